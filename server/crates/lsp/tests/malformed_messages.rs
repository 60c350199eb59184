//! Sessions that go on after messages that are none.

mod support;

use lsp::Ending;
use serde_json::{Value, json};
use support::{Client, Fake, TRAIN, hint_params, ready, shown};

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_a_parse_error_and_the_session_goes_on() {
    let fake = Fake::new();
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    let bodies: [&[u8]; 4] = [b"", b"{not json", b"\xff\xfe", b"{\"method\":\"\xed\xa0\xbd\"}"];
    for body in bodies {
        client.send_body(body).await;
        assert_eq!(client.refusal().await["code"], -32700, "{body:?}");
    }
    for header in [
        "Content-Length: abc\r\n\r\n",
        "Content-Length: 18446744073709551616\r\n\r\n",
        "Content-Length: 1000000000000\r\n\r\n",
        "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
        "Content-Length: 2\r\nContent-Type: text; charset=latin-1\r\n\r\n{}",
    ] {
        client.send_raw(header).await;
        assert_eq!(client.refusal().await["code"], -32700, "{header:?}");
        // The next good header ends what is lost.
        assert!(client.command("perfline.unload", json!([])).await.is_ok());
    }
    end_well(client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_a_request_is_an_invalid_request_and_the_session_goes_on() {
    let fake = Fake::new();
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    let shutdown = json!({"jsonrpc": "2.0", "id": 1, "method": "shutdown"});
    for body in [
        json!([]),
        json!([shutdown, shutdown]),
        json!(5),
        json!({"jsonrpc": "2.0", "id": 1.5, "method": "shutdown"}),
        json!({"jsonrpc": "2.0", "id": null, "method": "shutdown"}),
        json!({"jsonrpc": "2.0", "id": {}, "method": "shutdown"}),
        json!({"jsonrpc": "2.0", "id": 1}),
    ] {
        client.send(&body).await;
        assert_eq!(client.refusal().await["code"], -32600, "{body}");
    }
    // Where the id is known the answer has it.
    client.send(&json!({"jsonrpc": "1.0", "id": 71, "method": "shutdown"})).await;
    assert_eq!(client.answer(71).await.unwrap_err()["code"], -32600);
    end_well(client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_messages_before_initialize_are_answered_too() {
    let fake = Fake::new();
    let mut client = Client::new(fake.clone());
    client.send_body("[").await;
    assert_eq!(client.refusal().await["code"], -32700);
    client.initialize(fake.folder(), json!({})).await;
    end_well(client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_are_known_in_any_case() {
    let fake = Fake::new();
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    let body = r#"{"jsonrpc":"2.0","id":71,"method":"shutdown"}"#;
    let header = format!(
        "x-more: 1\r\ncontent-type: application/vscode-jsonrpc; charset=UTF-8\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    client.send_raw(format!("{header}{body}")).await;
    assert_eq!(client.answer(71).await, Ok(Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_surrogate_pair_leaves_the_document_in_step() {
    let fake = Fake::new();
    let mut client = ready(&fake).await;
    let uri = fake.uri("train.py");
    let expected = client.hints(&uri).await;
    assert_eq!(expected.len(), 3);
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}})).await;

    // In the text that is opened, and in an edit that puts three lines on top.
    let text = serde_json::to_string(&format!("# HALF\n{TRAIN}")).unwrap();
    let text = text.replace("HALF", r"\ud83d and \ude00");
    client
        .send_body(format!(
            r#"{{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{{"textDocument":
            {{"uri":"{uri}","languageId":"python","version":1,"text":{text}}}}}}}"#
        ))
        .await;
    let lowered = |by: usize, hints: &[String]| -> Vec<String> {
        let lower = |hint: &String| {
            let (line, rest) = hint.split_once(':').unwrap();
            format!("{}:{rest}", line.parse::<usize>().unwrap() + by)
        };
        hints.iter().map(lower).collect()
    };
    assert_eq!(client.hints(&uri).await, lowered(1, &expected));
    client
        .send_body(format!(
            r##"{{"jsonrpc":"2.0","method":"textDocument/didChange","params":{{"textDocument":
            {{"uri":"{uri}","version":2}},"contentChanges":[{{"text":"\ud83d\n#\ude00\n\n","range":
            {{"start":{{"line":0,"character":2}},"end":{{"line":0,"character":2}}}}}}]}}}}"##
        ))
        .await;
    assert_eq!(client.hints(&uri).await, lowered(4, &expected));
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_that_nobody_waits_for_change_nothing() {
    let fake = Fake::new();
    let mut client = Client::start(fake.clone(), fake.folder(), json!({})).await;
    for response in [
        json!({"jsonrpc": "2.0", "id": 999, "result": null}),
        json!({"jsonrpc": "2.0", "id": 999, "result": null}),
        json!({"jsonrpc": "2.0", "id": "never", "error": {"code": 1, "message": "no"}}),
        json!({"jsonrpc": "2.0", "id": 0, "error": "no"}),
        json!({"jsonrpc": "2.0", "id": 1.5, "result": null}),
        json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "no"}}),
    ] {
        client.send(&response).await;
    }
    end_well(client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn among_malformed_messages_no_request_is_lost_and_none_overtakes_an_edit() {
    let fake = Fake::new();
    let mut client = ready(&fake).await;
    let uri = fake.uri("train.py");
    let mut ids = Vec::new();
    for version in 2..102 {
        client.send_body("[]").await;
        client.change(&uri, version, [0, 0, 0, 0], "\n").await;
        client.send_raw("Content-Length: x\r\n\r\n{").await;
        ids.push((version, client.ask("textDocument/inlayHint", hint_params(&uri)).await));
    }
    for (version, id) in ids {
        let hints = shown(&client.answer(id).await.unwrap());
        assert!(hints[0].starts_with(&format!("{version}:")), "version {version}: {hints:?}");
        let codes =
            [client.refusal().await["code"].clone(), client.refusal().await["code"].clone()];
        assert_eq!(codes, [-32600, -32700]);
    }
    end_well(client).await;
}

/// The session still works, and ends as it should.
async fn end_well(mut client: Client) {
    assert_eq!(client.request("shutdown", Value::Null).await, Ok(Value::Null));
    client.notify("exit", Value::Null).await;
    assert_eq!(client.end().await, Ending::Exit { after_shutdown: true });
}
