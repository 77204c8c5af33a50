//! A socket as two queues of typed messages.
//!
//! Each message is its length and its JSON: values that attempts carry are kept as they were written, line breaks included,
//! so lines would not do. A message that cannot be read ends the channel; both sides treat that as the other's death.
//! The channel owns both tasks that serve its socket: dropping it closes the socket, even while an [`Outgoing`] is still held
//! elsewhere.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc::{Receiver, Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel};
use tokio_util::task::AbortOnDropHandle;

/// A longer message is a mistake, or an attack on the memory of this process.
const LONGEST: u32 = 256 << 20;

/// Messages that were read and not taken yet: enough to keep the socket busy.
const READ_AHEAD: usize = 16;

/// How long sending the last messages may take.
const CLOSING: Duration = Duration::from_secs(2);

/// One end of a socket.
pub struct Channel<In, Out> {
    incoming: Receiver<In>,
    outgoing: Outgoing<Out>,
    writer: AbortOnDropHandle<()>,
    _reader: AbortOnDropHandle<()>,
}

/// The sending end of a channel. Never waits: reports and settlements are sent from code that cannot.
///
/// The queue has no limit of its own, because its content has one. A channel carries one attempt. The owner sends one answer for
/// each question, and the claimant has a question for each call or turn record that is under way. Reports are left: an
/// attempt makes no more of them than its calls have pieces, and an owner that stops reading is gone when its process ends.
pub struct Outgoing<Out>(UnboundedSender<Option<Out>>);

impl<Out> Clone for Outgoing<Out> {
    fn clone(&self) -> Self {
        Outgoing(self.0.clone())
    }
}

impl<Out> Outgoing<Out> {
    /// Queues a message. A channel that has ended drops it; code that waits for an answer sees the end of the channel.
    pub fn send(&self, message: Out) {
        let _ = self.0.send(Some(message));
    }
}

impl<In, Out> Channel<In, Out>
where
    In: DeserializeOwned + Send + 'static,
    Out: Serialize + Send + 'static,
{
    /// A channel over this socket.
    pub fn over(stream: UnixStream) -> Channel<In, Out> {
        let (read, write) = stream.into_split();
        let (sender, incoming) = channel(READ_AHEAD);
        // Unbounded, for the reason that `Outgoing` gives.
        let (outgoing, queue) = unbounded_channel();
        let reader = AbortOnDropHandle::new(tokio::spawn(read_all(read, sender)));
        let writer = AbortOnDropHandle::new(tokio::spawn(write_all(write, queue)));
        Channel { incoming, outgoing: Outgoing(outgoing), writer, _reader: reader }
    }

    /// The next message; `None` once there will be none. Nothing is lost if it is not waited for to the end.
    pub async fn next(&mut self) -> Option<In> {
        self.incoming.recv().await
    }

    /// The next message, if it comes in time.
    pub async fn next_within(&mut self, longest: Duration) -> Option<In> {
        tokio::time::timeout(longest, self.next()).await.ok().flatten()
    }

    /// Queues a message.
    pub fn send(&self, message: Out) {
        self.outgoing.send(message);
    }

    /// The sending end, for others.
    pub fn outgoing(&self) -> Outgoing<Out> {
        self.outgoing.clone()
    }

    /// Ends the channel when everything was sent. Dropping it ends it at once, and messages that were not sent by then are lost.
    pub async fn close(self) {
        let _ = self.outgoing.0.send(None);
        let _ = tokio::time::timeout(CLOSING, self.writer).await;
    }
}

async fn read_all<In: DeserializeOwned>(mut socket: OwnedReadHalf, sender: Sender<In>) {
    while let Ok(message) = read(&mut socket).await {
        if sender.send(message).await.is_err() {
            return;
        }
    }
}

async fn read<In: DeserializeOwned>(socket: &mut OwnedReadHalf) -> io::Result<In> {
    let length = socket.read_u32().await?;
    if length > LONGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length as usize];
    socket.read_exact(&mut bytes).await?;
    Ok(serde_json::from_slice(&bytes)?)
}

async fn write_all<Out: Serialize>(mut socket: OwnedWriteHalf, mut queue: UnboundedReceiver<Option<Out>>) {
    while let Some(Some(message)) = queue.recv().await {
        let Ok(bytes) = serde_json::to_vec(&message) else { return };
        drop(message);
        if write(&mut socket, &bytes).await.is_err() {
            return;
        }
    }
}

async fn write(socket: &mut OwnedWriteHalf, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).ok().filter(|length| *length <= LONGEST);
    socket.write_u32(length.ok_or(io::ErrorKind::InvalidData)?).await?;
    socket.write_all(bytes).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::JsonText;

    #[tokio::test]
    async fn values_with_line_breaks_arrive_unchanged_and_then_the_end() {
        let (a, b) = UnixStream::pair().unwrap();
        let (left, mut right) = (Channel::<(), JsonText>::over(a), Channel::<JsonText, ()>::over(b));
        let text = JsonText::parse("{\n  \"a\": 1.50\n}".into()).unwrap();
        left.send(text.clone());
        left.close().await;
        assert_eq!(right.next().await, Some(text));
        assert_eq!(right.next().await, None);
    }

    #[tokio::test]
    async fn a_dropped_channel_ends_though_a_sending_end_is_left() {
        let (a, b) = UnixStream::pair().unwrap();
        let (left, mut right) = (Channel::<(), JsonText>::over(a), Channel::<JsonText, ()>::over(b));
        let _sender = left.outgoing();
        drop(left);
        let received = tokio::time::timeout(Duration::from_secs(60), right.next()).await;
        assert_eq!(received.expect("the channel ends"), None);
    }

    #[tokio::test]
    async fn a_message_that_cannot_be_read_ends_the_channel() {
        let (mut a, b) = UnixStream::pair().unwrap();
        let mut right = Channel::<JsonText, ()>::over(b);
        a.write_u32(3).await.unwrap();
        a.write_all(b"{x}").await.unwrap();
        assert_eq!(right.next().await, None);
    }
}
