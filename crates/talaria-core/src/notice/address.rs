//! Which network addresses anyone may be sent to, and which only with the user's permission.
//!
//! A name that a stranger controls can point anywhere, so its address is judged, not the name. Addresses that
//! carry an IPv4 address inside (mapped, NAT64, 6to4, …) are judged by it. Called by the engine's senders after they
//! have resolved a name, for every address it has.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How far an address reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The internet.
    Public,
    /// This machine or a network around it: only with permission.
    Private,
    /// No one in particular: never.
    Never,
}

/// Judges an address.
pub fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => reach_v6(address),
    }
}

fn reach_v4(address: Ipv4Addr) -> Reach {
    match address.octets() {
        // "This network", multicast, reserved and broadcast.
        [0 | 224..=255, ..] => Reach::Never,
        [10 | 127, ..] | [172, 16..=31, ..] | [192, 168, ..] | [169, 254, ..] => Reach::Private,
        // Shared by a carrier's customers, and the block for benchmarks.
        [100, 64..=127, ..] | [198, 18 | 19, ..] => Reach::Private,
        // Protocol assignments, the old relay of 6to4, and three blocks for documentation.
        [192, 0, 0, _] | [192, 88, 99, _] => Reach::Never,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Reach::Never,
        _ => Reach::Public,
    }
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let inner = |high: u16, low: u16| {
        let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
        reach_v4(Ipv4Addr::new(a, b, c, d))
    };
    match [a, b, c, d, e, f] {
        _ if address.is_loopback() => Reach::Private,
        // Mapped, translated, and the old compatible form, in which :: itself lies.
        [0, 0, 0, 0, 0, 0xffff] | [0, 0, 0, 0, 0xffff, 0] | [0, 0, 0, 0, 0, 0] => inner(g, h),
        // NAT64 with the well-known prefix.
        [0x64, 0xff9b, 0, 0, 0, 0] => inner(g, h),
        // NAT64 of one network alone.
        [0x64, 0xff9b, 1, ..] => Reach::Private,
        // 6to4.
        [0x2002, high, low, ..] => inner(high, low),
        // Unique local, link local, and the old site local.
        [0xfc00..=0xfdff | 0xfe80..=0xfeff, ..] => Reach::Private,
        // Teredo and other assignments for protocols, and documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Reach::Never,
        [0x2000..=0x3fff, ..] => Reach::Public,
        _ => Reach::Never,
    }
}
