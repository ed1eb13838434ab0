//! How much memory a host and everything below it take.
//!
//! Linux reports the proportional share, so that pages which processes share are counted once; where that cannot be
//! read, the resident size is taken, which counts them for each. Reads files of the system: call it where waiting is
//! allowed.

use talaria_home::descendants;

/// The memory of a process and everything below it, in KiB. 0 if it is gone.
pub(crate) fn of_tree(leader: i32) -> u64 {
    let below = descendants::below(leader).into_iter().map(|entry| entry.pid);
    of_all(std::iter::once(leader).chain(below).collect())
}

#[cfg(target_os = "linux")]
fn of_all(pids: Vec<i32>) -> u64 {
    let read = |pid: i32, file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).ok();
    let of_one = |pid| {
        let share = read(pid, "smaps_rollup").and_then(|text| kib(&text, "Pss:"));
        share.or_else(|| kib(&read(pid, "status")?, "VmRSS:"))
    };
    pids.into_iter().filter_map(of_one).sum()
}

/// Reads `Pss:   1234 kB`.
#[cfg(target_os = "linux")]
fn kib(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
}

#[cfg(not(target_os = "linux"))]
fn of_all(pids: Vec<i32>) -> u64 {
    let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
    let shown = descendants::ps(&["-o", "rss=", "-p", &pids.join(",")]);
    shown.lines().filter_map(|line| line.trim().parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_counts_and_what_is_gone_does_not() {
        let own = i32::try_from(std::process::id()).unwrap();
        let alone = of_all(vec![own]);
        assert!(alone > 500, "{alone} KiB");
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let below = of_tree(pid);
        assert!(below > 0, "{below} KiB");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(of_tree(pid), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_share_is_read_and_not_what_looks_like_it() {
        let text = "55-7f ---p 0 00:00 0  [rollup]\nRss:   2 kB\nPss:   1234 kB\nPss_Dirty:   7 kB\n";
        assert_eq!((kib(text, "Pss:"), kib(text, "Swap:")), (Some(1234), None));
    }
}
