//! Which boot of the machine this is. Start times of processes are counted from it, and no process survives it.

/// Names this boot; empty if the system does not report it, and then nothing can be proven.
#[cfg(target_os = "linux")]
pub fn id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// macOS has a name for the boot; other systems report the boot time, which moves with the clock: after a jump of the
/// clock hosts are not adopted there but ended.
#[cfg(not(target_os = "linux"))]
pub fn id() -> String {
    let ask = |name: &str| {
        let output = std::process::Command::new("sysctl").args(["-n", name]).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    ask("kern.bootsessionuuid").or_else(|| ask("kern.boottime")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_boot_has_a_name_that_stays() {
        let id = super::id();
        assert!(!id.is_empty());
        assert_eq!(super::id(), id);
    }
}
