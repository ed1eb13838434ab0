//! What stands in Codex's configuration now, seen as entries: what is ours, what is another Talaria's, what is the
//! user's.
//!
//! An entry is ours if it has the value that our record says, wherever it stands and whatever became of the markers;
//! or if it stands between markers whose seal fits (then a Talaria wrote it and nobody changed it since) and we want to
//! write that very entry. Everything else there is somebody else's and must survive.

use std::collections::HashMap;

use toml_edit::{Document, Item};

use super::markers::{Markers, Region, markers, seal};
use super::place::{DEFAULT_PERMISSIONS, Place, TABLES};
use super::statements::{Kind, Statement, parts, statements};
use super::{Record, digest};

/// A text with what was found in it.
pub(super) struct Survey<'a> {
    pub(super) text: &'a str,
    pub(super) document: Document<&'a str>,
    pub(super) statements: Vec<Statement>,
    pub(super) markers: Markers<'a>,
    pub(super) entries: Vec<Found>,
    /// Statements that give one of our tables a value, so that nothing can be added to it: the table, the statement.
    pub(super) closed: Vec<(&'static str, usize)>,
}

/// An entry as it stands in a text.
pub(super) struct Found {
    pub(super) place: Place,
    /// The numbers of its statements.
    pub(super) statements: Vec<usize>,
    /// The pair of markers between which all of it stands.
    pub(super) region: Option<usize>,
    /// The digest of its value; only where it can matter.
    pub(super) digest: Option<String>,
    /// The table in which it stands although it was written to the top level: the block was moved.
    strayed_into: Option<Vec<String>>,
}

/// Whose an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// Ours, to be replaced or removed.
    Us,
    /// A Talaria's that has another record, or ours from before the record was lost.
    AnotherTalaria,
    /// The user's, or a program's that edits the file for the user.
    User,
}

impl<'a> Survey<'a> {
    /// Looks through a text that was parsed already.
    pub(super) fn new(text: &'a str, document: Document<&'a str>, before: &Record<'_>) -> Self {
        let statements = statements(text);
        let markers = markers(text, &statements);
        let mut survey =
            Self { text, document, statements, markers, entries: Vec::new(), closed: Vec::new() };
        survey.find_entries();
        for at in 0..survey.entries.len() {
            let entry = &survey.entries[at];
            if entry.region.is_some() || before.contains_key(&entry.place) {
                survey.entries[at].digest = survey.item(entry).map(digest::of_item);
            }
        }
        survey
    }

    /// Says of every entry whose it is, given which ones are about to be written.
    pub(super) fn owners(&self, before: &Record<'_>, is_wanted: impl Fn(&Place) -> bool) -> Vec<Owner> {
        let sealed: Vec<bool> =
            (0..self.markers.regions.len()).map(|region| self.is_sealed(region)).collect();
        let owner = |entry: &Found| {
            let is_sealed = entry.region.is_some_and(|region| sealed[region]);
            let is_recorded =
                entry.digest.is_some() && entry.digest.as_deref() == before.get(&entry.place).copied();
            match (is_recorded, is_sealed) {
                (true, _) => Owner::Us,
                (false, true) if is_wanted(&entry.place) => Owner::Us,
                (false, true) => Owner::AnotherTalaria,
                (false, false) => Owner::User,
            }
        };
        self.entries.iter().map(owner).collect()
    }

    /// Tells whether the user has an entry at this place, in whatever form.
    pub(super) fn is_taken(&self, place: &Place) -> bool {
        self.at(place.parts().iter()).is_some()
    }

    /// The bytes of a statement.
    pub(super) fn source(&self, statement: &Statement) -> &'a str {
        self.text.get(statement.bytes.clone()).unwrap_or_default()
    }

    fn is_sealed(&self, region: usize) -> bool {
        let inside = self.entries.iter().filter(|entry| entry.region == Some(region));
        let digests: Option<Vec<_>> =
            inside.map(|entry| Some((&entry.place, entry.digest.as_deref()?))).collect();
        digests.is_some_and(|digests| seal(&digests) == self.markers.regions[region].seal)
    }

    fn item(&self, entry: &Found) -> Option<&Item> {
        self.at(entry.strayed_into.iter().flatten().chain(entry.place.parts()))
    }

    fn at<'p>(&self, mut path: impl Iterator<Item = &'p String>) -> Option<&Item> {
        let first = self.document.get(path.next()?)?;
        path.try_fold(first, |item, part| item.as_table_like()?.get(part))
    }

    fn find_entries(&mut self) {
        let mut index: HashMap<Place, usize> = HashMap::new();
        let mut header = Vec::new();
        let mut region_of_header = None;
        let mut reached = 0;
        for (number, statement) in self.statements.iter().enumerate() {
            let region = region_at(&self.markers.regions, &mut reached, number);
            let (path, is_header) = match &statement.kind {
                Kind::Blank | Kind::Comment => continue,
                Kind::Table(name) | Kind::ArrayOfTables(name) => {
                    header = parts(&self.text[name.clone()]);
                    region_of_header = region;
                    (header.clone(), true)
                }
                Kind::Value(name) => {
                    let own = parts(&self.text[name.clone()]);
                    let is_astray = !header.is_empty() && region.is_some() && region != region_of_header;
                    if is_astray && own == [DEFAULT_PERMISSIONS] {
                        let place = Place::default_permissions();
                        let strayed_into = Some(header.clone());
                        let statements = vec![number];
                        self.entries.push(Found { place, statements, region, digest: None, strayed_into });
                        continue;
                    }
                    (header.iter().cloned().chain(own).collect(), false)
                }
            };
            if let Some(place) = Place::of(&path) {
                let at = *index.entry(place.clone()).or_insert_with(|| {
                    let (statements, digest, strayed_into) = (Vec::new(), None, None);
                    self.entries.push(Found { place, statements, region, digest, strayed_into });
                    self.entries.len() - 1
                });
                let entry = &mut self.entries[at];
                entry.statements.push(number);
                entry.region = entry.region.filter(|known| Some(*known) == region);
            } else if let Some(table) = TABLES.into_iter().find(|table| path == [*table])
                && (!is_header || matches!(statement.kind, Kind::ArrayOfTables(_)))
            {
                self.closed.push((table, number));
            }
        }
    }
}

impl Found {
    /// Tells whether it is in the way of an entry that is to be written to the same place.
    pub(super) fn is_in_the_way(&self) -> bool {
        self.strayed_into.is_none()
    }
}

/// The region in which a statement stands; asked in the order of the statements.
fn region_at(regions: &[Region<'_>], reached: &mut usize, number: usize) -> Option<usize> {
    while regions.get(*reached).is_some_and(|region| region.end < number) {
        *reached += 1;
    }
    regions.get(*reached).filter(|region| region.start < number).map(|_| *reached)
}
