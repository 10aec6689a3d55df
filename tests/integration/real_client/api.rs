//! A stand-in for the Messages API that answers from a script.
//!
//! Which turn is due follows from the request alone (how often the model has
//! spoken in that conversation), so a repeated request gets the same answer.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::{io, thread};

use serde_json::{Value, json};

/// A session needs a few dozen requests; a client in a loop ends here.
const MAX_REQUESTS: usize = 400;

/// One thing the model does in a turn.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    Text(&'static str),
    /// [`TASK`] in its input is the background command that was begun last.
    Call {
        tool: &'static str,
        input: Value,
    },
}

pub(crate) const TASK: &str = "{task}";

/// The model's turns in one conversation; past the end the last one repeats,
/// so a list ends with a text.
pub(crate) type Turns = Vec<Vec<Block>>;

/// All conversations of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    pub(crate) main: Turns,
    /// By a word that stands in the subagent's prompt and in no other.
    pub(crate) subagents: Vec<(&'static str, Turns)>,
}

impl Script {
    /// One without subagents.
    pub(crate) fn of_main(main: Turns) -> Self {
        Self {
            main,
            ..Self::default()
        }
    }
}

/// Serves the script on a free port of the loopback interface until the test
/// process ends.
pub(crate) fn serve(script: Script) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let script = Arc::new(script);
    thread::spawn(move || {
        for stream in listener.incoming().take(MAX_REQUESTS).flatten() {
            let script = Arc::clone(&script);
            // A client that hangs up early is no fault of the test.
            thread::spawn(move || answer(stream, &script).ok());
        }
    });
    Ok(address)
}

fn answer(mut stream: TcpStream, script: &Script) -> io::Result<()> {
    let (line, body) = read_request(&stream)?;
    let (kind, text) =
        if line.starts_with("POST /v1/messages?") || line.starts_with("POST /v1/messages ") {
            ("text/event-stream", events(&script.reply(&body), &body))
        } else {
            ("application/json", json!({ "input_tokens": 1 }).to_string())
        };
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        text.len()
    )?;
    if !line.starts_with("HEAD ") {
        stream.write_all(text.as_bytes())?;
    }
    stream.flush()
}

/// The request line, and the body as JSON (`null` where it is none).
fn read_request(stream: &TcpStream) -> io::Result<(String, Value)> {
    let mut reader = BufReader::new(stream);
    let mut request_line = String::new();
    reader.read_line(&mut request_line)?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        match header.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body)?;
    Ok((
        request_line,
        serde_json::from_slice(&body).unwrap_or_default(),
    ))
}

/// What one request gets: the blocks, and a name no other turn has, from which
/// the ids are made.
struct Reply<'a> {
    id: String,
    blocks: &'a [Block],
}

/// For requests without tools, which ask for a title or a summary.
static TITLE: [Block; 1] = [Block::Text("a title")];

impl Script {
    fn reply(&self, request: &Value) -> Reply<'_> {
        if request["tools"].as_array().is_none_or(Vec::is_empty) {
            return Reply {
                id: "title".to_owned(),
                blocks: &TITLE,
            };
        }
        let messages = request["messages"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        // A command's output stands in a message behind the one that names it.
        let said = messages
            .split(|message| message["role"] == "assistant")
            .next();
        let prompt = json!(said.unwrap_or_default()).to_string();
        let (name, turns) = self
            .subagents
            .iter()
            .find(|(marker, _)| prompt.contains(marker))
            .map_or(("main", &self.main), |(marker, turns)| (*marker, turns));
        let spoken = messages
            .iter()
            .filter(|message| message["role"] == "assistant")
            .count();
        let blocks = turns
            .get(spoken)
            .or(turns.last())
            .map_or(&[][..], Vec::as_slice);
        Reply {
            id: format!("{name}_{spoken}"),
            blocks,
        }
    }
}

fn with_task(input: &Value, request: &Value) -> String {
    let input = input.to_string();
    if !input.contains(TASK) {
        return input;
    }
    let request = request["messages"].to_string();
    let (_, id) = request
        .rsplit_once("running in background with ID: ")
        .expect("a command runs in the background");
    let len = id.find(|c: char| !c.is_alphanumeric()).unwrap_or(id.len());
    input.replace(TASK, &id[..len])
}

/// The reply as the server-sent events of one streamed message.
fn events(reply: &Reply<'_>, request: &Value) -> String {
    let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
    let mut out = String::new();
    let mut send = |event: Value| {
        let name = event["type"].as_str().unwrap_or_default();
        out.push_str(&format!("event: {name}\ndata: {event}\n\n"));
    };
    let message = json!({
        "id": format!("msg_{}", reply.id), "type": "message", "role": "assistant", "model": request["model"],
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    send(json!({ "type": "message_start", "message": message }));
    let mut stop_reason = "end_turn";
    for (index, block) in reply.blocks.iter().enumerate() {
        let (start, delta) = match block {
            Block::Text(text) => (
                json!({ "type": "text", "text": "" }),
                json!({ "type": "text_delta", "text": text }),
            ),
            Block::Call { tool, input } => {
                stop_reason = "tool_use";
                let id = format!("toolu_{}_{index}", reply.id);
                (
                    json!({ "type": "tool_use", "id": id, "name": tool, "input": {} }),
                    json!({ "type": "input_json_delta", "partial_json": with_task(input, request) }),
                )
            }
        };
        send(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        send(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        send(json!({ "type": "content_block_stop", "index": index }));
    }
    let delta = json!({ "stop_reason": stop_reason, "stop_sequence": null });
    send(json!({ "type": "message_delta", "delta": delta, "usage": usage }));
    send(json!({ "type": "message_stop" }));
    out
}
