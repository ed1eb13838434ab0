//! Who is at the other end of a connection: the engine's own user, and what the system says about that process.
//!
//! Another user is refused, even the administrator; the mode of the socket enforces the same, and this check also protects
//! if the directory was made accessible. The engine decides the rights of the process from the facts that are read here.
//! Where the kernel has it, the process is pinned by a descriptor, so that its pid cannot be reused while it is examined.

use std::io;

use talaria_core::access::Identity;
use talaria_engine::engine::Engine;
use talaria_engine::peer_process;
use tokio::net::UnixStream;

use crate::notice::ServerNotice;

/// Says why a peer is turned away, if it is. A peer that cannot be identified is.
pub(crate) fn turned_away(own: u32, peer: io::Result<u32>) -> Option<ServerNotice> {
    match peer {
        Ok(peer) if peer == own => None,
        Ok(peer) => Some(ServerNotice::Stranger { uid: peer }),
        Err(error) => Some(ServerNotice::Unidentified(error.to_string())),
    }
}

/// Establishes who a peer is. Called once for each connection, before anything that it sent is read.
pub(crate) fn identify(engine: &Engine, stream: &UnixStream) -> Identity {
    engine.identify(examine(engine, stream))
}

fn examine(
    engine: &Engine,
    stream: &UnixStream,
) -> Result<(talaria_core::access::ProcessFacts, talaria_core::access::PeerEvidence), String> {
    let credentials = stream.peer_cred().map_err(|error| error.to_string())?;
    let pid =
        credentials.pid().filter(|pid| *pid > 0).ok_or("the system does not say which process it is")?;
    let pinned = pin(stream)?;
    let examined = peer_process::examine(pid, &engine.codex_processes())?;
    match pinned {
        Some(pinned) if pinned.pid() != Some(pid) => {
            Err(format!("process {pid} ended while it was examined"))
        }
        _ => Ok(examined),
    }
}

#[cfg(target_os = "linux")]
mod pinned {
    use std::os::fd::{AsRawFd, OwnedFd};

    use nix::errno::Errno;
    use nix::sys::socket::{getsockopt, sockopt};
    use tokio::net::UnixStream;

    /// A descriptor of the process that made a connection.
    pub(super) struct Pinned(OwnedFd);

    impl Pinned {
        /// The number of the process; `None` once it has ended.
        pub(super) fn pid(&self) -> Option<i32> {
            let about = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", self.0.as_raw_fd())).ok()?;
            let pid = about.lines().find_map(|line| line.strip_prefix("Pid:"))?;
            pid.trim().parse().ok().filter(|pid| *pid > 0)
        }
    }

    /// Pins the process that made a connection; `None` where the kernel is older than 6.5.
    pub(super) fn pin(stream: &UnixStream) -> Result<Option<Pinned>, String> {
        match getsockopt(stream, sockopt::PeerPidfd) {
            Ok(descriptor) => Ok(Some(Pinned(descriptor))),
            Err(Errno::ENOPROTOOPT | Errno::EINVAL | Errno::ENOSYS) => Ok(None),
            Err(error) => Err(format!("the process has ended ({error})")),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod pinned {
    use tokio::net::UnixStream;

    /// Only Linux has descriptors of processes.
    pub(super) enum Pinned {}

    impl Pinned {
        pub(super) fn pid(&self) -> Option<i32> {
            match *self {}
        }
    }

    pub(super) fn pin(_: &UnixStream) -> Result<Option<Pinned>, String> {
        Ok(None)
    }
}

use pinned::pin;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_user_may_talk_to_the_engine() {
        assert!(turned_away(1000, Ok(1000)).is_none());
        for peer in [0, 1001, u32::MAX] {
            assert!(
                matches!(turned_away(1000, Ok(peer)), Some(ServerNotice::Stranger { uid }) if uid == peer)
            );
        }
        assert!(turned_away(0, Ok(1000)).is_some());
    }

    #[test]
    fn a_peer_that_cannot_be_identified_is_turned_away() {
        let notice = turned_away(1000, Err(io::Error::other("gone"))).unwrap();
        assert_eq!(notice.to_string(), "refused a connection: the peer cannot be identified (gone)");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_pinned_process_is_known_by_its_number() {
        let (one, _other) = UnixStream::pair().unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        // A kernel before 6.5 has no such descriptor.
        if let Some(pinned) = pin(&one).unwrap() {
            assert_eq!(pinned.pid(), Some(own));
        }
    }
}
