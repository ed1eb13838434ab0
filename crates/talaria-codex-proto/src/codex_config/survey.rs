//! The current entries of Codex's configuration, by owner: ours, another Talaria's, the user's.
//!
//! An entry is ours if it has the value that our record says, wherever it is and whatever became of the markers;
//! or if it is between markers whose seal fits (then a Talaria wrote it and no one changed it since) and we want to
//! write that very entry. Everything else there is someone else's and must survive.

use std::borrow::Cow;
use std::collections::HashMap;

use talaria_core::toml_statements::{StatementKind, TomlStatement, first_part, parts, statements};
use toml::de::{DeTable, DeValue};

use super::below::Below;
use super::markers::{Markers, Region, markers, seal};
use super::place::EntryPlace::{self, DefaultPermissions};
use super::place::TABLES;
use super::{Record, below, digest};

/// A text with what was found in it.
pub(super) struct Survey<'a> {
    pub(super) text: &'a str,
    pub(super) document: DeTable<'a>,
    pub(super) statements: Vec<TomlStatement>,
    pub(super) markers: Markers<'a>,
    pub(super) entries: Vec<Found>,
    /// Statements that set one of our tables to a value, so that nothing can be added to it: the table, the statement.
    pub(super) closed: Vec<(&'static str, usize)>,
}

/// An entry as it is in a text.
pub(super) struct Found {
    pub(super) place: EntryPlace,
    /// The numbers of its statements.
    pub(super) statements: Vec<usize>,
    /// The pair of markers around all of it.
    pub(super) region: Option<usize>,
    /// The numbers of keys that TOML counts among it, but that are below the end marker and are no part of it.
    pub(super) below: Vec<usize>,
    /// The digest of its value; only where it can matter.
    pub(super) digest: Option<String>,
    /// The table in which it is although it was written to the top level, because the block was moved.
    astray: Vec<String>,
}

/// Whose an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// Ours, to be replaced or removed.
    Us,
    /// Ours, and possibly still needed: it is kept.
    Undecided,
    /// A Talaria's that has another record, or ours from before the record was lost.
    AnotherTalaria,
    /// The user's, or a program's that edits the file for the user.
    User,
}

impl<'a> Survey<'a> {
    /// Looks through a text that was parsed already.
    pub(super) fn new(text: &'a str, document: DeTable<'a>, before: &Record<'_>, keys: Below) -> Self {
        let statements = statements(text);
        let markers = markers(text, &statements);
        let mut survey =
            Self { text, document, statements, markers, entries: Vec::new(), closed: Vec::new() };
        survey.find_entries();
        for at in 0..survey.entries.len() {
            let entry = &survey.entries[at];
            if entry.region.is_some() || before.contains_key(&entry.place) {
                survey.entries[at].digest = survey.value(entry).map(digest::of_value);
            }
        }
        below::settle(&mut survey, before, keys);
        survey
    }

    /// Says of every entry whose it is, given which ones are about to be written and which ones only may be wanted.
    pub(super) fn owners(
        &self,
        before: &Record<'_>,
        is_wanted: impl Fn(&EntryPlace) -> bool,
        is_undecided: impl Fn(&EntryPlace) -> bool,
    ) -> Vec<Owner> {
        let sealed: Vec<bool> =
            (0..self.markers.regions.len()).map(|region| self.is_sealed(region)).collect();
        let owner = |entry: &Found| {
            let is_sealed = entry.region.is_some_and(|region| sealed[region]);
            let is_recorded =
                entry.digest.is_some() && entry.digest.as_deref() == before.get(&entry.place).copied();
            match (is_recorded, is_sealed) {
                (true, _) if !is_wanted(&entry.place) && is_undecided(&entry.place) => Owner::Undecided,
                (true, _) => Owner::Us,
                (false, true) if is_wanted(&entry.place) => Owner::Us,
                (false, true) => Owner::AnotherTalaria,
                (false, false) => Owner::User,
            }
        };
        self.entries.iter().map(owner).collect()
    }

    /// Returns whether something is at this place, in whatever form.
    pub(super) fn is_taken(&self, place: &EntryPlace) -> bool {
        self.at(path_of(place)).is_some()
    }

    /// The bytes of a statement.
    pub(super) fn source(&self, statement: &TomlStatement) -> &'a str {
        self.text.get(statement.bytes.clone()).unwrap_or_default()
    }

    /// Returns whether a Talaria wrote what is between these markers, and no one changed it since.
    pub(super) fn is_sealed(&self, region: usize) -> bool {
        let inside = self.entries.iter().filter(|entry| entry.region == Some(region));
        let digests: Option<Vec<_>> =
            inside.map(|entry| Some((&entry.place, entry.digest.as_deref()?))).collect();
        digests.is_some_and(|digests| seal(digests) == self.markers.regions[region].seal)
    }

    /// The current content at an entry's path.
    pub(super) fn value(&self, entry: &Found) -> Option<&DeValue<'a>> {
        self.at(entry.astray.iter().map(String::as_str).chain(path_of(&entry.place)))
    }

    fn at<'p>(&self, mut path: impl Iterator<Item = &'p str>) -> Option<&DeValue<'a>> {
        let first = self.document.get(path.next()?)?.get_ref();
        path.try_fold(first, |value, part| Some(value.as_table()?.get(part)?.get_ref()))
    }

    fn find_entries(&mut self) {
        let mut finder = Finder { entries: Vec::new(), index: HashMap::new() };
        let mut under = Under::Top;
        let (mut header, mut region_of_header) = ("", None);
        let mut reached = 0;
        for (number, statement) in self.statements.iter().enumerate() {
            let Some(name) = statement.kind.name() else { continue };
            let name = &self.text[name];
            let at = (number, region_at(&self.markers.regions, &mut reached, number));
            if statement.kind.is_header() {
                (header, region_of_header) = (name, at.1);
                under = match place_of(name) {
                    Ok(place) => Under::Entry(finder.note(place, at)),
                    Err(Some(table)) if matches!(statement.kind, StatementKind::Table(_)) => {
                        Under::Table(table)
                    }
                    Err(Some(table)) => {
                        self.closed.push((table, number));
                        Under::Other
                    }
                    Err(None) => Under::Other,
                };
                continue;
            }
            match under {
                Under::Top => match place_of(name) {
                    Ok(place) => finder.add(place, at),
                    Err(table) => self.closed.extend(table.map(|table| (table, number))),
                },
                _ if at.1.is_some()
                    && at.1 != region_of_header
                    && place_of(name) == Ok(DefaultPermissions) =>
                {
                    let astray = parts(header).into_iter().map(Cow::into_owned).collect();
                    finder.entries.push(Found { astray, ..Found::new(DefaultPermissions, at) });
                }
                Under::Entry(entry) if at.1.is_none() && region_of_header.is_some() => {
                    finder.entries[entry].below.push(number);
                }
                Under::Entry(entry) => finder.entries[entry].extend(at),
                Under::Table(table) => {
                    let place = EntryPlace::of([table, &first_part(name)].into_iter());
                    place.into_iter().for_each(|place| finder.add(place, at));
                }
                Under::Other => {}
            }
        }
        self.entries = finder.entries;
    }
}

/// Owner of a value at this path.
enum Under {
    Top,
    /// One of the tables of entries, which has its own header.
    Table(&'static str),
    Entry(usize),
    Other,
}

/// The number of a statement and the region in which it is.
type At = (usize, Option<usize>);

struct Finder {
    entries: Vec<Found>,
    index: HashMap<EntryPlace, usize>,
}

impl Finder {
    fn add(&mut self, place: EntryPlace, at: At) {
        self.note(place, at);
    }

    /// Adds a statement to the entry at a place; returns the number of the entry.
    fn note(&mut self, place: EntryPlace, at: At) -> usize {
        if let Some(known) = self.index.get(&place) {
            self.entries[*known].extend(at);
            return *known;
        }
        self.index.insert(place.clone(), self.entries.len());
        self.entries.push(Found::new(place, at));
        self.entries.len() - 1
    }
}

/// The place to which a name of the top level leads, or the table of entries that it is.
fn place_of(name: &str) -> Result<EntryPlace, Option<&'static str>> {
    let first = first_part(name);
    if !EntryPlace::is_known(&first) {
        return Err(None);
    }
    let place = EntryPlace::of(parts(name).iter().map(AsRef::as_ref));
    place.ok_or_else(|| TABLES.into_iter().find(|table| *table == first))
}

impl Found {
    fn new(place: EntryPlace, (statement, region): At) -> Self {
        let (below, astray) = (Vec::new(), Vec::new());
        Self { place, statements: vec![statement], region, below, digest: None, astray }
    }

    fn extend(&mut self, (statement, region): At) {
        self.statements.push(statement);
        self.region = self.region.filter(|known| Some(*known) == region);
    }

    /// Returns whether it blocks a planned entry at the same path.
    pub(super) fn is_in_the_way(&self) -> bool {
        self.astray.is_empty()
    }
}

fn path_of(place: &EntryPlace) -> impl Iterator<Item = &str> {
    [Some(place.table()), place.name()].into_iter().flatten()
}

/// The region in which a statement is; asked in the order of the statements.
fn region_at(regions: &[Region<'_>], reached: &mut usize, number: usize) -> Option<usize> {
    while regions.get(*reached).is_some_and(|region| region.end < number) {
        *reached += 1;
    }
    regions.get(*reached).filter(|region| region.start < number).map(|_| *reached)
}
