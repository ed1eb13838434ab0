//! Names that Codex, the system and HTTP accept: of servers, variables and headers.
//!
//! Called by the configuration reader and by the translation.

/// Whether every supported Codex starts a server of this name: letters, digits, `-` and `_`.
///
/// Codex 0.166 takes a few signs more, 0.130 lets such a server fail at its start.
pub fn is_server_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// Whether this can be the name of a variable of the environment.
pub fn is_variable_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether this can be the name of a header.
pub(crate) fn is_header_name(name: &str) -> bool {
    let sign = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(sign)
}

/// The name of the variable into which a secret of a server belongs.
pub fn variable_for(server: &str, place: &str) -> String {
    let word = |text: &str| -> String {
        let sign = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        text.chars().map(sign).collect()
    };
    format!("MCP_{}_{}", word(server), word(place))
}
