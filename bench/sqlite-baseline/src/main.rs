//! What raw SQLite does with the same rows, for comparison with `talaria-store`. Started by its bench.
//!
//! `sqlite-baseline prepared FILE full|normal EVENTS BATCH BYTES`: prepared inserts, `BATCH` events a transaction.
//! `sqlite-baseline reference FILE full|normal EVENTS BYTES`: per event one connection, an insert and its commit, an
//! update and its commit.
//! Prints events per second.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Result, params};

const SCHEMA: &str = "
    create table session (id text primary key not null, last_seq integer not null, updated_at integer not null)
        strict, without rowid;
    create table event (session text not null, seq integer not null, turn integer, at integer not null,
        kind text not null, json text not null, primary key (session, seq)) strict, without rowid;
    insert into session values ('0199a2b4-0000-7000-8000-000000000001', 0, 0);";

const SESSION: &str = "0199a2b4-0000-7000-8000-000000000001";

fn open(file: &Path, synchronous: &str) -> Result<Connection> {
    let conn = Connection::open(file)?;
    conn.busy_timeout(Duration::from_secs(10))?;
    conn.pragma_update(None, "journal_mode", "wal")?;
    conn.pragma_update(None, "synchronous", synchronous)?;
    Ok(conn)
}

fn body(bytes: usize) -> String {
    format!("{{\"type\":\"item_completed\",\"text\":\"{}\"}}", "x".repeat(bytes.saturating_sub(36)))
}

fn prepared(file: &Path, synchronous: &str, events: i64, batch: i64, bytes: usize) -> Result<f64> {
    let mut conn = open(file, synchronous)?;
    conn.execute_batch(SCHEMA)?;
    let body = body(bytes);
    let begun = Instant::now();
    for first in (0..events).step_by(usize::try_from(batch).unwrap_or(1)) {
        let transaction = conn.transaction()?;
        {
            let mut insert = transaction.prepare_cached("insert into event values (?1, ?2, ?3, ?4, ?5, ?6)")?;
            for seq in first + 1..=(first + batch).min(events) {
                insert.execute(params![SESSION, seq, 1, 1_794_800_571_123_i64, "item_completed", body])?;
            }
        }
        transaction.commit()?;
    }
    Ok(events as f64 / begun.elapsed().as_secs_f64())
}

fn reference(file: &Path, synchronous: &str, events: i64, bytes: usize) -> Result<f64> {
    open(file, synchronous)?.execute_batch(SCHEMA)?;
    let body = body(bytes);
    let begun = Instant::now();
    for seq in 1..=events {
        let conn = open(file, synchronous)?;
        conn.execute(
            "insert into event values (?1, ?2, ?3, ?4, ?5, ?6)",
            params![SESSION, seq, 1, 1_794_800_571_123_i64, "item_completed", body],
        )?;
        conn.execute("update session set last_seq = ?2, updated_at = ?3 where id = ?1", params![SESSION, seq, seq])?;
    }
    Ok(events as f64 / begun.elapsed().as_secs_f64())
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let rate = match arguments.as_slice() {
        ["prepared", file, synchronous, events, batch, bytes] => {
            prepared(Path::new(file), synchronous, events.parse()?, batch.parse()?, bytes.parse()?)?
        }
        ["reference", file, synchronous, events, bytes] => {
            reference(Path::new(file), synchronous, events.parse()?, bytes.parse()?)?
        }
        _ => return Err("see the top of the source for the arguments".into()),
    };
    println!("{rate:.0}");
    Ok(())
}
