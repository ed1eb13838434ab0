//! One algorithm for every change: remove our entries from the text, then insert the block with the planned
//! ones.
//!
//! A removal is a plan without entries. A text that matches the plan already is unchanged, also if the user has
//! added comments or tables of other programs between the markers.

use std::collections::HashSet;

use toml::Spanned;
use toml::de::DeTable;

use super::below::{Below, name_of};
use super::markers::{START, end};
use super::place::EntryPlace;
use super::splice::{Fate, put_in, take_out};
use super::survey::{Found, Owner, Survey};
use super::{Added, AddedEntry, Additions, Freed, Planned, Record, Undecided, UsersOwn, Why, digest, write};
use talaria_core::config::{ConfigProblem, Severity, position};
use talaria_core::servers::{CodexServer, ServerField};
use talaria_core::toml_statements::StatementKind;
use talaria_core::toml_text::TomlText;

/// What an entry of a plugin says.
const SWITCHED_ON: [(&str, ServerField<'static>); 1] = [("enabled", ServerField::Is(true))];

/// A planned entry.
pub(super) struct Wanted<'a> {
    place: EntryPlace,
    digest: String,
    body: Body<'a>,
}

enum Body<'a> {
    Server(&'a CodexServer),
    Plugin,
    Permissions(&'a str),
}

impl<'a> Wanted<'a> {
    /// All additions, in the order in which they are written.
    pub(super) fn all(additions: &'a Additions) -> Vec<Self> {
        let permissions = additions.default_permissions.iter().map(|profile| Self {
            place: EntryPlace::DefaultPermissions,
            digest: digest::of_text(profile),
            body: Body::Permissions(profile),
        });
        let mut seen = HashSet::with_capacity(additions.servers.len());
        let servers = additions.servers.iter().filter(|(name, _)| seen.insert(name));
        let servers = servers.map(|(name, server)| Self {
            place: EntryPlace::Server(name.clone()),
            digest: digest::of_fields(server.fields()),
            body: Body::Server(server),
        });
        let switched_on = digest::of_fields(SWITCHED_ON);
        let mut seen = HashSet::new();
        let plugins = additions.plugins.iter().filter(|name| seen.insert(*name));
        let plugins = plugins.map(|name| Self {
            place: EntryPlace::Plugin(name.clone()),
            digest: switched_on.clone(),
            body: Body::Plugin,
        });
        permissions.chain(servers).chain(plugins).collect()
    }

    fn write(&self, out: &mut String, newline: &str) {
        match self.body {
            Body::Permissions(profile) => {
                write::lines(out, [(self.place.table(), ServerField::Text(profile))], newline);
            }
            Body::Server(server) => self.write_table(out, server.fields(), newline),
            Body::Plugin => self.write_table(out, SWITCHED_ON, newline),
        }
    }

    fn write_table<'f>(
        &self,
        out: &mut String,
        fields: impl IntoIterator<Item = (&'static str, ServerField<'f>)>,
        newline: &str,
    ) {
        out.push('[');
        self.place.write(out);
        out.push(']');
        out.push_str(newline);
        write::lines(out, fields, newline);
    }
}

/// Makes the text that has everything wanted, and nothing else of what the record says.
pub(super) fn rebuild(
    current: &str,
    wanted: &[Wanted<'_>],
    undecided: &[Undecided],
    before: &Added,
) -> Result<Planned, ConfigProblem> {
    let planned = rebuild_with(current, wanted, undecided, before, Below::Free)?;
    // A key that the user has there already cannot be moved there, so it stays in our former table.
    if planned.freed.is_empty() || parse(&planned.text).is_ok() {
        return Ok(planned);
    }
    rebuild_with(current, wanted, undecided, before, Below::Bound)
}

fn rebuild_with(
    current: &str,
    wanted: &[Wanted<'_>],
    undecided: &[Undecided],
    before: &Added,
    below: Below,
) -> Result<Planned, ConfigProblem> {
    let record = before.record();
    let survey = Survey::new(current, parse(current)?, &record, below);
    let places: HashSet<&EntryPlace> = wanted.iter().map(|wanted| &wanted.place).collect();
    let is_undecided = |place: &EntryPlace| undecided.iter().any(|one| one.covers(place));
    let owners = survey.owners(&record, |place| places.contains(place), is_undecided);
    let users = Users::new(&survey, &owners);

    let (lost, writing): (Vec<_>, Vec<_>) = wanted.iter().partition(|wanted| users.has(&wanted.place));
    refuse_closed_tables(&survey, &writing)?;
    let changed = before.entries.iter().filter(|entry| users.has(&entry.place));
    let own = lost.iter().filter(|wanted| !record.contains_key(&wanted.place));
    let kept = changed.clone().map(|entry| UsersOwn { path: entry.place.clone(), why: Why::ChangedSince });
    let kept = kept.chain(own.map(|wanted| UsersOwn { path: wanted.place.clone(), why: Why::Own })).collect();
    // Changed entries stay in the record, so that an undo can report them as kept.
    let written = writing
        .iter()
        .map(|wanted| AddedEntry { place: wanted.place.clone(), digest: wanted.digest.clone() });
    let open = owned_by(&survey, &owners, Owner::Undecided);
    let is_open = |entry: &&AddedEntry| open.iter().any(|found| found.place == entry.place);
    let staying = before.entries.iter().filter(is_open).cloned();
    let added = Added { entries: written.chain(staying).chain(changed.cloned()).collect() };

    let others = owned_by(&survey, &owners, Owner::AnotherTalaria);
    let text = if stands_already(&survey, &owners, &writing) {
        current.to_owned()
    } else {
        let rest = take_out(&survey, fates(&survey, &owners));
        let moving = open.iter().copied().filter(|entry| is_movable(&survey, entry));
        let moving: Vec<&Found> = others.iter().copied().chain(moving).collect();
        put_in(&rest, &block(&survey, &moving, &writing, TomlText::new(&rest).newline()))
    };
    let undecided = open.iter().map(|entry| entry.place.clone()).collect();
    let others = others.iter().map(|entry| entry.place.clone()).collect();
    Ok(Planned { text, added, kept, others, undecided, freed: freed(&survey) })
}

/// The keys that are no longer in a table of ours.
fn freed(survey: &Survey<'_>) -> Vec<Freed> {
    let keys = survey.entries.iter().flat_map(|entry| entry.below.iter().map(move |number| (entry, *number)));
    let named = keys.filter_map(|(entry, number)| Some((entry, name_of(survey, number)?)));
    named.map(|(entry, key)| Freed { key: key.to_owned(), from: entry.place.clone() }).collect()
}

/// Returns whether the statements of an entry mean the same in another place: an entry under a header that is not
/// its own stays there.
fn is_movable(survey: &Survey<'_>, entry: &Found) -> bool {
    let first = entry.statements.first().and_then(|number| survey.statements.get(*number));
    entry.region.is_some() && first.is_some_and(|first| matches!(first.kind, StatementKind::Table(_)))
}

/// Text between markers with a valid seal.
pub(super) fn sealed(current: &str) -> Result<Added, ConfigProblem> {
    let survey = Survey::new(current, parse(current)?, &Record::new(), Below::Free);
    let owners = survey.owners(&Record::new(), |_| true, |_| false);
    let entry =
        |found: &Found| Some(AddedEntry { place: found.place.clone(), digest: found.digest.clone()? });
    Ok(Added { entries: owned_by(&survey, &owners, Owner::Us).into_iter().filter_map(entry).collect() })
}

/// Reads a text as TOML, without what only its writer needs to know: that takes half as long.
fn parse(text: &str) -> Result<DeTable<'_>, ConfigProblem> {
    let read = DeTable::parse(text);
    read.map(Spanned::into_inner).map_err(|error| ConfigProblem::syntax(text, error.span(), error.message()))
}

/// The places where something of the user's is.
struct Users<'s> {
    survey: &'s Survey<'s>,
    others: HashSet<&'s EntryPlace>,
}

impl<'s> Users<'s> {
    fn new(survey: &'s Survey<'s>, owners: &[Owner]) -> Self {
        let there = survey.entries.iter().zip(owners).filter(|(entry, _)| entry.is_in_the_way());
        let others = there.filter(|(_, owner)| **owner != Owner::User).map(|(entry, _)| &entry.place);
        Self { survey, others: others.collect() }
    }

    fn has(&self, place: &EntryPlace) -> bool {
        // Searches the text and not the entries: an entry without its own statement may still be in an inline
        // table.
        self.survey.is_taken(place) && !self.others.contains(place)
    }
}

fn owned_by<'s>(survey: &'s Survey<'_>, owners: &[Owner], by: Owner) -> Vec<&'s Found> {
    survey.entries.iter().zip(owners).filter(|(_, owner)| **owner == by).map(|(entry, _)| entry).collect()
}

fn refuse_closed_tables(survey: &Survey<'_>, writing: &[&Wanted<'_>]) -> Result<(), ConfigProblem> {
    let is_needed = |table: &str| writing.iter().any(|wanted| wanted.place.table() == table);
    let Some((table, number)) = survey.closed.iter().find(|(table, _)| is_needed(table)) else {
        return Ok(());
    };
    let (line, column) = position(survey.text, survey.statements.get(*number).map(|one| one.bytes.start));
    Err(ConfigProblem {
        line,
        column,
        key: Some((*table).to_owned()),
        message: "this form cannot be extended, nothing was changed".to_owned(),
        hint: Some(format!("write its entries as tables, each under a header [{table}.NAME]")),
        severity: Severity::Error,
    })
}

/// Returns whether there is nothing to do.
fn stands_already(survey: &Survey<'_>, owners: &[Owner], writing: &[&Wanted<'_>]) -> bool {
    let ours = owned_by(survey, owners, Owner::Us);
    let blocks = usize::from(owners.iter().any(|owner| *owner != Owner::User));
    let is_one_block = survey.markers.strays.is_empty() && survey.markers.regions.len() == blocks;
    let is_in_between = survey.entries.iter().any(|entry| !entry.below.is_empty());
    if !is_one_block || is_in_between || ours.len() != writing.len() {
        return false;
    }
    let wanted: Record<'_> = writing.iter().map(|one| (&one.place, one.digest.as_str())).collect();
    ours.iter().all(|entry| {
        let digest = wanted.get(&entry.place).copied();
        entry.is_in_the_way()
            && entry.region.is_some()
            && digest.is_some()
            && digest == entry.digest.as_deref()
    })
}

fn fates(survey: &Survey<'_>, owners: &[Owner]) -> Vec<Fate> {
    let mut fates = vec![Fate::Stays; survey.statements.len()];
    for (entry, owner) in survey.entries.iter().zip(owners) {
        let fate = match owner {
            Owner::User => continue,
            Owner::Us => Fate::GoesButForComments,
            // It is copied into the new block unchanged, with its comments.
            Owner::AnotherTalaria => Fate::Goes,
            Owner::Undecided if is_movable(survey, entry) => Fate::Goes,
            Owner::Undecided => continue,
        };
        entry.statements.iter().for_each(|number| fates[*number] = fate);
    }
    let pairs = survey.markers.regions.iter().flat_map(|region| [region.start, region.end]);
    pairs.chain(survey.markers.strays.iter().copied()).for_each(|number| fates[number] = Fate::Goes);
    fates
}

/// Writes the block: a top-level key first, then the entries of another Talaria, then ours.
fn block(survey: &Survey<'_>, others: &[&Found], writing: &[&Wanted<'_>], newline: &str) -> String {
    let theirs = others.iter().map(|entry| (&entry.place, entry.digest.as_deref().unwrap_or_default()));
    let ours = writing.iter().map(|wanted| (&wanted.place, wanted.digest.as_str()));
    let digests: Vec<_> = theirs.chain(ours).collect();
    if digests.is_empty() {
        return String::new();
    }
    let mut out = String::with_capacity(256 * (digests.len() + 1));
    out.push_str(START);
    out.push_str(newline);
    let mut between = "";
    for is_table in [false, true] {
        for entry in others.iter().filter(|entry| entry.place.name().is_some() == is_table) {
            out.push_str(std::mem::replace(&mut between, newline));
            copy(&mut out, survey, entry, newline);
        }
        for wanted in writing.iter().filter(|wanted| wanted.place.name().is_some() == is_table) {
            out.push_str(std::mem::replace(&mut between, newline));
            wanted.write(&mut out, newline);
        }
    }
    end(&mut out, digests);
    out.push_str(newline);
    out
}

fn copy(out: &mut String, survey: &Survey<'_>, entry: &Found, newline: &str) {
    for statement in entry.statements.iter().filter_map(|number| survey.statements.get(*number)) {
        out.push_str(survey.source(statement).trim_end_matches(['\r', '\n']));
        out.push_str(newline);
    }
}
