//! Judges addresses before anything is sent to them: the text of a URL, and every network address that its host resolves to.
//!
//! Pure. Which networks are private is `talaria_core::notice::reach`, shared with notifications. Addresses at which clouds
//! hand out credentials are refused even where the user allows private ones. A URL is read by the `url` crate, which turns
//! every way to write an IPv4 address (`0x7f.1`, `2130706433`, `127.1`) into the address itself.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use talaria_core::notice::{Reach, reach};
use talaria_guard::redact::redact;
use url::{Host, Url};

/// The longest URL that is read.
const LONGEST: usize = 2000;

/// Names at which clouds hand out credentials.
const METADATA_NAMES: [&str; 4] =
    ["metadata.google.internal", "metadata.goog", "metadata", "instance-data.ec2.internal"];

/// Addresses at which clouds hand out credentials.
const METADATA_V4: [Ipv4Addr; 4] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(100, 100, 100, 200),
];

const METADATA_V6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)];

/// Why a URL cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPageAddress {
    /// It is no URL.
    #[error("this is no absolute URL; write it with https:// or http://")]
    NotAnUrl,
    /// It is too long.
    #[error("the URL is longer than 2,000 characters")]
    TooLong,
    /// Something else than HTTP.
    #[error("only http and https URLs are read")]
    Scheme,
    /// There is a user name or a password in it.
    #[error("a URL with a user name or a password is not read")]
    UserInfo,
    /// There is no host.
    #[error("the URL has no host")]
    NoHost,
    /// A name at which a cloud hands out credentials.
    #[error("this host hands out the credentials of a machine and is never read")]
    Metadata,
}

/// Why a network address is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedAddress {
    /// This machine or a network around it, without the user's permission.
    Private,
    /// Not the address of one machine: multicast, reserved, documentation.
    Never,
    /// A cloud hands out credentials there: refused whatever the user permits.
    Metadata,
}

/// Reads the URL of a page. The fragment is dropped, because servers never see it.
pub fn parse_page_address(text: &str) -> Result<Url, BadPageAddress> {
    if text.len() > LONGEST {
        return Err(BadPageAddress::TooLong);
    }
    let mut url = Url::parse(text.trim()).map_err(|_| BadPageAddress::NotAnUrl)?;
    check_page_address(&url)?;
    url.set_fragment(None);
    Ok(url)
}

/// Validates a URL, also one that a redirect names.
pub(crate) fn check_page_address(url: &Url) -> Result<(), BadPageAddress> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(BadPageAddress::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(BadPageAddress::UserInfo);
    }
    match url.host() {
        None => Err(BadPageAddress::NoHost),
        Some(Host::Domain(name)) if METADATA_NAMES.contains(&name.trim_end_matches('.')) => {
            Err(BadPageAddress::Metadata)
        }
        Some(_) if url.as_str().len() > LONGEST => Err(BadPageAddress::TooLong),
        Some(_) => Ok(()),
    }
}

/// Judges a network address. `is_permitted` says that the user allows the host to be private.
pub fn judge(address: IpAddr, is_permitted: bool) -> Result<(), RefusedAddress> {
    match reach(address) {
        _ if is_metadata(address) => Err(RefusedAddress::Metadata),
        Reach::Never => Err(RefusedAddress::Never),
        Reach::Private if !is_permitted => Err(RefusedAddress::Private),
        Reach::Private | Reach::Public => Ok(()),
    }
}

fn is_metadata(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => METADATA_V4.contains(&address),
        IpAddr::V6(address) => {
            METADATA_V6.contains(&address) || inner_v4(address).any(|v4| METADATA_V4.contains(&v4))
        }
    }
}

/// The IPv4 addresses that an IPv6 address can carry: in its last 32 bits (mapped, NAT64), or after 2002 (6to4).
fn inner_v4(address: Ipv6Addr) -> impl Iterator<Item = Ipv4Addr> {
    let [_, b, c, _, _, _, g, h] = address.segments();
    let joined = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    [joined(g, h), joined(b, c)].into_iter()
}

/// Whether a URL carries a secret of a kind that the redactor knows: whole, percent-decoded, or in one of its parts.
pub fn has_secret(text: &str) -> bool {
    let is_secret = |text: &str| redact(text) != text;
    if is_secret(text) {
        return true;
    }
    let Ok(url) = Url::parse(text.trim()) else { return false };
    let decoded = |text: &str| {
        url::form_urlencoded::parse(format!("={}", text.replace('&', "%26")).as_bytes())
            .next()
            .map(|(_, value)| value.into_owned())
            .unwrap_or_default()
    };
    let mut parts = vec![decoded(url.path()), decoded(url.query().unwrap_or_default())];
    parts.extend(url.path_segments().into_iter().flatten().map(decoded));
    parts.extend(url.query_pairs().flat_map(|(name, value)| [format!("{name}={value}"), value.into_owned()]));
    parts.extend(url.fragment().map(decoded));
    parts.iter().any(|part| is_secret(part))
}

/// An address for the audit log. One with a secret keeps only its host: a mask does not reach what is percent-encoded.
pub fn mask_address(text: &str) -> String {
    if !has_secret(text) {
        return text.to_owned();
    }
    match Url::parse(text.trim()) {
        Ok(url) => format!("{}/[redacted]", url.origin().ascii_serialization()),
        Err(_) => "[redacted]".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Option<RefusedAddress> {
        let url = Url::parse(&format!("http://{text}/")).unwrap();
        let address: IpAddr = match url.host().unwrap() {
            Host::Ipv4(address) => address.into(),
            Host::Ipv6(address) => address.into(),
            Host::Domain(name) => panic!("{name} is a name"),
        };
        judge(address, false).err()
    }

    #[test]
    fn private_addresses_are_refused_in_every_spelling() {
        use RefusedAddress::{Metadata, Never, Private};
        for private in [
            "127.0.0.1",
            "127.1",
            "0x7f.1",
            "2130706433",
            "0177.0.0.1",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.0.1",
            "100.64.0.1",
            "169.254.1.1",
            "198.18.0.1",
            "[::1]",
            "[fd00::1]",
            "[fe80::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[64:ff9b::10.0.0.1]",
            "[64:ff9b:1::1]",
            "[2002:7f00:1::]",
            "[::10.0.0.1]",
        ] {
            assert_eq!(refused(private), Some(Private), "{private}");
        }
        for never in [
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "192.0.2.1",
            "[::]",
            "[ff02::1]",
            "[2001::1]",
        ] {
            assert_eq!(refused(never), Some(Never), "{never}");
        }
        for metadata in [
            "169.254.169.254",
            "0xa9fea9fe",
            "[::ffff:169.254.169.254]",
            "[64:ff9b::a9fe:a9fe]",
            "[2002:a9fe:a9fe::]",
            "[fd00:ec2::254]",
            "100.100.100.200",
        ] {
            assert_eq!(refused(metadata), Some(Metadata), "{metadata}");
        }
        for public in
            ["93.184.216.34", "8.8.8.8", "[2606:2800:220:1::1]", "[64:ff9b::808:808]", "[::ffff:8.8.8.8]"]
        {
            assert_eq!(refused(public), None, "{public}");
        }
    }

    #[test]
    fn permission_opens_private_addresses_and_nothing_else() {
        let judged = |text: &str| judge(text.parse().unwrap(), true);
        assert_eq!(judged("127.0.0.1"), Ok(()));
        assert_eq!(judged("169.254.169.254"), Err(RefusedAddress::Metadata));
        assert_eq!(judged("::ffff:169.254.169.254"), Err(RefusedAddress::Metadata));
        assert_eq!(judged("224.0.0.1"), Err(RefusedAddress::Never));
    }

    #[test]
    fn a_url_is_read_or_refused_with_a_reason() {
        let parse = |text: &str| parse_page_address(text).map(String::from);
        assert_eq!(parse(" https://Example.org/a?b#c "), Ok("https://example.org/a?b".to_owned()));
        assert_eq!(parse("example.org"), Err(BadPageAddress::NotAnUrl));
        assert_eq!(parse("file:///etc/passwd"), Err(BadPageAddress::Scheme));
        assert_eq!(parse("javascript:alert(1)"), Err(BadPageAddress::Scheme));
        assert_eq!(parse("https://me@example.org/"), Err(BadPageAddress::UserInfo));
        assert_eq!(parse("https://:secret@example.org/"), Err(BadPageAddress::UserInfo));
        assert_eq!(parse("http://METADATA.google.internal./x"), Err(BadPageAddress::Metadata));
        assert_eq!(parse(&format!("https://a/{}", "x".repeat(LONGEST))), Err(BadPageAddress::TooLong));
    }

    #[test]
    fn a_secret_is_found_in_every_part_of_a_url_also_encoded() {
        let key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH";
        let encoded: String = key.bytes().map(|byte| format!("%{byte:02x}")).collect();
        for secret in [key, &encoded] {
            for url in [
                format!("https://a.example/{secret}"),
                format!("https://a.example/x/{secret}/y"),
                format!("https://a.example/?q={secret}"),
                format!("https://a.example/?{secret}"),
                format!("https://a.example/?a=b&q=see+{secret}"),
                format!("https://a.example/#{secret}"),
                format!("https://{secret}@a.example/"),
            ] {
                assert!(has_secret(&url), "{url}");
            }
        }
        assert!(has_secret("https://a.example/?password=hunter2hunter2"));
        for plain in ["https://a.example/", "https://docs.example/rust/std/?search=hash%20map&page=2#top"] {
            assert!(!has_secret(plain), "{plain}");
        }
    }
}
