//! Notices of the server for the log of the engine. Nothing here is for the peer of a connection, which gets a response.

use std::fmt;
use std::net::IpAddr;

/// Something that the owner of the server should write into its log.
#[derive(Debug)]
pub enum ServerNotice {
    /// Another user connected.
    Stranger {
        /// Who.
        uid: u32,
    },
    /// Who connected is not known.
    Unidentified(String),
    /// Someone else than a configured proxy connected to an address without TLS.
    NotAProxy(IpAddr),
    /// There are as many connections as are served.
    Full {
        /// How many that is.
        limit: usize,
    },
    /// The system refused a connection.
    Refused(String),
    /// Someone removed the socket; it was made again, or why not.
    Removed(Result<(), String>),
}

impl fmt::Display for ServerNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stranger { uid } => write!(f, "refused a connection: it is of user {uid}"),
            Self::Unidentified(why) => {
                write!(f, "refused a connection: the peer cannot be identified ({why})")
            }
            Self::NotAProxy(peer) => {
                write!(
                    f,
                    "refused a connection from {peer}: it is not in web.trusted_proxies, and there is no TLS"
                )
            }
            Self::Full { limit } => write!(f, "refused a connection: there are {limit} already"),
            Self::Refused(why) => write!(f, "cannot accept a connection: {why}"),
            Self::Removed(Ok(())) => f.write_str("the socket was removed; it was created again"),
            Self::Removed(Err(why)) => write!(f, "the socket was removed and cannot be created again: {why}"),
        }
    }
}
