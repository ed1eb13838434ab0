//! A folder as people write it: below their home it begins with `~`.

/// The path as it is shown, if this is the home of the person.
pub fn shown(path: &str, home: Option<&str>) -> String {
    let below = home.filter(|home| home.len() > 1).and_then(|home| path.strip_prefix(home));
    match below {
        Some("") => "~".to_owned(),
        Some(rest) if rest.starts_with('/') => format!("~{rest}"),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn a_path_below_home_is_shown_as_people_write_it() {
        let home = Some("/home/ada");
        assert_eq!(shown("/home/ada/src", home), "~/src");
        assert_eq!(shown("/home/ada", home), "~");
        assert_eq!(shown("/home/adam", home), "/home/adam");
        assert_eq!(shown("/x", Some("/")), "/x");
        assert_eq!(shown("/x", None), "/x");
    }
}
