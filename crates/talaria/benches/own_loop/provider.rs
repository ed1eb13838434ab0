//! The provider of this bench: plain sockets that answer in the Responses family and note when what arrived.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The text of one piece; a frame of it has about 290 bytes.
pub(crate) const PIECE: &str = "a few words of text ";

/// How requests are answered.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    /// This many pieces of text, as fast as they are taken.
    Pieces(usize),
    /// This many pieces, each after a pause, as models write them.
    Paced(usize, Duration),
    /// The beginning of an answer, this many pieces of text, and then nothing until the connection is closed.
    Silence(usize),
}

/// What happened, and when.
#[derive(Debug)]
pub(crate) enum Seen {
    /// The first byte of a request.
    FirstByte(Instant),
    /// A request with this body was read whole.
    Request(Vec<u8>),
    /// The client closed the connection of a silent answer.
    Closed(Instant),
}

pub(crate) struct Provider {
    pub(crate) address: SocketAddr,
    answer: Arc<Mutex<Answer>>,
    seen: Receiver<Seen>,
}

impl Provider {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let answer = Arc::new(Mutex::new(Answer::Pieces(1)));
        let (sender, seen) = channel();
        let of_connections = Arc::clone(&answer);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (answer, sender) = (Arc::clone(&of_connections), sender.clone());
                std::thread::spawn(move || serve(&stream.unwrap(), &answer, &sender));
            }
        });
        Self { address, answer, seen }
    }

    /// Answers later requests in this way.
    pub(crate) fn answers(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    /// When the first byte of the next request arrived, and the body.
    pub(crate) fn request(&self) -> (Instant, Vec<u8>) {
        let mut first = None;
        loop {
            match self.seen.recv().unwrap() {
                Seen::FirstByte(at) => first = Some(at),
                Seen::Request(body) => return (first.unwrap(), body),
                Seen::Closed(_) => {}
            }
        }
    }

    /// When the connection of a silent answer was closed.
    pub(crate) fn closed(&self) -> Instant {
        loop {
            if let Seen::Closed(at) = self.seen.recv().unwrap() {
                return at;
            }
        }
    }
}

/// Serves one connection until the client closes it.
fn serve(stream: &TcpStream, answer: &Mutex<Answer>, seen: &Sender<Seen>) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream);
    let mut ready = None;
    while reader.fill_buf().is_ok_and(|bytes| !bytes.is_empty()) {
        // The bench no longer looks.
        if seen.send(Seen::FirstByte(Instant::now())).is_err() {
            return;
        }
        let body = read_body(&mut reader);
        let _ = seen.send(Seen::Request(body));
        let wanted = *answer.lock().unwrap();
        match wanted {
            Answer::Pieces(pieces) => {
                // Made once for a connection: making it is not to slow the answer down.
                if ready.as_ref().is_none_or(|(count, _)| *count != pieces) {
                    ready = Some((pieces, whole(pieces)));
                }
                let Some((_, bytes)) = &ready else { return };
                send(stream, bytes);
            }
            Answer::Paced(pieces, pause) => {
                send(stream, &head(whole_body(pieces).len()));
                send(stream, begin().as_bytes());
                for number in 0..pieces {
                    std::thread::sleep(pause);
                    send(stream, piece(number).as_bytes());
                }
                send(stream, end(pieces).as_bytes());
            }
            Answer::Silence(pieces) => {
                send(stream, b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n");
                send(stream, begin().as_bytes());
                (0..pieces).for_each(|number| send(stream, piece(number).as_bytes()));
                let _ = reader.read(&mut [0]);
                let _ = seen.send(Seen::Closed(Instant::now()));
                return;
            }
        }
    }
}

fn send(mut stream: &TcpStream, bytes: &[u8]) {
    // A client may close early.
    let _ = stream.write_all(bytes);
}

fn read_body(reader: &mut impl BufRead) -> Vec<u8> {
    let (mut length, mut line) = (0, String::new());
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let lower = line.trim_end().to_ascii_lowercase();
        if lower.is_empty() {
            break;
        }
        if let Some(value) = lower.strip_prefix("content-length: ") {
            length = value.parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    body
}

/// A whole response: head and body.
fn whole(pieces: usize) -> Vec<u8> {
    let body = whole_body(pieces);
    [head(body.len()), body.into_bytes()].concat()
}

fn whole_body(pieces: usize) -> String {
    let mut body = begin();
    body.extend((0..pieces).map(piece));
    body + &end(pieces)
}

fn head(length: usize) -> Vec<u8> {
    let fixed = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ";
    format!("{fixed}{length}\r\n\r\n").into_bytes()
}

const ITEM: &str = "msg_0a1b2c3d4e5f60718293a4b5c6d7e8f9";

fn frame(kind: &str, rest: &str) -> String {
    format!("event: {kind}\ndata: {{\"type\":\"{kind}\",{rest}}}\n\n")
}

fn begin() -> String {
    let response =
        "\"response\":{\"id\":\"resp_1\",\"status\":\"in_progress\",\"model\":\"tiny\",\"output\":[]}";
    let item = format!(
        "\"output_index\":0,\"item\":{{\"id\":\"{ITEM}\",\"type\":\"message\",\"status\":\"in_progress\",\"content\":[],\"role\":\"assistant\"}}"
    );
    frame("response.created", response) + &frame("response.output_item.added", &item)
}

fn piece(number: usize) -> String {
    frame(
        "response.output_text.delta",
        &format!(
            "\"content_index\":0,\"delta\":\"{PIECE}\",\"item_id\":\"{ITEM}\",\"logprobs\":[],\"obfuscation\":\"x8Yz12Ab\",\
             \"output_index\":0,\"sequence_number\":{number}"
        ),
    )
}

fn end(pieces: usize) -> String {
    let item = format!(
        "{{\"id\":\"{ITEM}\",\"type\":\"message\",\"status\":\"completed\",\"content\":[{{\"type\":\"output_text\",\"annotations\":[],\
         \"logprobs\":[],\"text\":\"{}\"}}],\"role\":\"assistant\"}}",
        PIECE.repeat(pieces)
    );
    let response = "\"response\":{\"id\":\"resp_1\",\"status\":\"completed\",\"model\":\"tiny\",\"output\":[],\"usage\":{\"input_tokens\":100,\
         \"input_tokens_details\":{\"cached_tokens\":0},\"output_tokens\":10,\"output_tokens_details\":{\"reasoning_tokens\":0},\
         \"total_tokens\":110}}";
    frame("response.output_item.done", &format!("\"output_index\":0,\"item\":{item}"))
        + &frame("response.completed", response)
}
