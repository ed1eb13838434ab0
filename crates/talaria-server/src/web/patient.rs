//! A connection whose peer has to read: a write that does not get on for a while ends it.
//!
//! The peer can resume a stream by number. Without this, peers that never read would hold connections and their buffers.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How long a write may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The connection.
pub(super) struct Patient<I> {
    io: I,
    waits: Option<Pin<Box<Sleep>>>,
}

impl<I> Patient<I> {
    pub(super) fn new(io: I) -> Self {
        Self { io, waits: None }
    }

    fn bounded<T>(&mut self, done: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.waits = None;
            return done;
        }
        let waits = self.waits.get_or_insert_with(|| Box::pin(sleep(PATIENCE)));
        ready!(waits.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Patient<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, into)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Patient<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.io).poll_write(context, bytes);
        self.bounded(done, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.io).poll_flush(context);
        self.bounded(done, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.io).poll_shutdown(context);
        self.bounded(done, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_does_not_read_is_dropped_and_one_that_reads_slowly_is_not() {
        let (near, mut far) = tokio::io::duplex(8);
        let mut near = Patient::new(near);
        let slow = async {
            let mut piece = [0; 8];
            for _ in 0..4 {
                sleep(PATIENCE / 2).await;
                far.read_exact(&mut piece).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(near.write_all(&[1; 40]), slow);
        assert!(written.is_ok());
        let began = tokio::time::Instant::now();
        let error = near.write_all(&[1; 40]).await.unwrap_err();
        assert_eq!((error.kind(), began.elapsed()), (io::ErrorKind::TimedOut, PATIENCE));
    }
}
