//! Who may talk to the engine: its own user, and nobody else, not even the system's administrator.
//!
//! The mode of the socket says the same; this also holds where somebody opened the directory.

use std::io;

use crate::serve::Notice;

/// Says why a peer is turned away, if it is. Whoever cannot be identified is.
pub(crate) fn turned_away(own: u32, peer: io::Result<u32>) -> Option<Notice> {
    match peer {
        Ok(peer) if peer == own => None,
        Ok(peer) => Some(Notice::Stranger { uid: peer }),
        Err(error) => Some(Notice::Unidentified(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_user_may_talk_to_the_engine() {
        assert!(turned_away(1000, Ok(1000)).is_none());
        for peer in [0, 1001, u32::MAX] {
            assert!(matches!(turned_away(1000, Ok(peer)), Some(Notice::Stranger { uid }) if uid == peer));
        }
        assert!(turned_away(0, Ok(1000)).is_some());
    }

    #[test]
    fn a_peer_that_cannot_be_identified_is_turned_away() {
        let notice = turned_away(1000, Err(io::Error::other("gone"))).unwrap();
        assert_eq!(notice.to_string(), "turned a connection away: who it is cannot be told (gone)");
    }
}
