//! A run as a Workflow Run RO-Crate: what `ro-crate-metadata.json` says of it.
//!
//! The caller writes the files; this module names them. The profile is Workflow Run Crate 0.5, on Process Run Crate 0.5 and Workflow
//! RO-Crate 1.0.

use serde_json::{Value, json};

/// A file of the crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrateFile {
    /// Its path in the crate.
    pub path: String,
    /// What it is called.
    pub name: String,
    /// Its media type.
    pub media: String,
    /// Its size in bytes.
    pub size: u64,
}

/// What is told of a run.
#[derive(Debug, Clone, Default)]
pub struct RunCrate {
    /// The run.
    pub run: String,
    /// The workflow's name.
    pub workflow: String,
    /// What it is for.
    pub description: String,
    /// The file of the workflow.
    pub main: Option<CrateFile>,
    /// Further files that the workflow is made from.
    pub sources: Vec<CrateFile>,
    /// When the run began, as an xsd:dateTime.
    pub started: String,
    /// When it ended.
    pub ended: Option<String>,
    /// Whether it ended well; `None` while it goes on.
    pub succeeded: Option<bool>,
    /// The version of the engine.
    pub version: String,
    /// What it was given.
    pub inputs: Vec<CrateFile>,
    /// What it gave.
    pub outputs: Vec<CrateFile>,
    /// The graph of the run.
    pub graph: Option<CrateFile>,
    /// Agents that took part: name and model.
    pub agents: Vec<(String, String)>,
}

const PROFILES: [(&str, &str, &str); 3] = [
    ("https://w3id.org/ro/wfrun/process/0.5", "Process Run Crate", "0.5"),
    ("https://w3id.org/ro/wfrun/workflow/0.5", "Workflow Run Crate", "0.5"),
    ("https://w3id.org/workflowhub/workflow-ro-crate/1.0", "Workflow RO-Crate", "1.0"),
];

const LANGUAGE: &str = "https://w3id.org/convoke#workflow-language";

/// The metadata of the crate.
pub fn metadata(about: &RunCrate) -> Value {
    let action = format!("#run-{}", about.run);
    let profiles: Vec<Value> = PROFILES.iter().map(|(id, ..)| json!({"@id": id})).collect();
    let files = || {
        about.main.iter().chain(&about.sources).chain(&about.inputs).chain(&about.outputs).chain(&about.graph)
    };
    let parts: Vec<Value> = files().map(|file| json!({"@id": file.path})).collect();
    let mut root = json!({
        "@id": "./", "@type": "Dataset", "name": format!("run {} of {}", about.run, about.workflow),
        "description": describing(about), "datePublished": about.ended.as_ref().unwrap_or(&about.started),
        "license": {"@id": "#license"}, "conformsTo": profiles, "hasPart": parts, "mentions": {"@id": action},
    });
    let mut graph = vec![json!({
        "@id": "ro-crate-metadata.json", "@type": "CreativeWork", "about": {"@id": "./"},
        "conformsTo": [{"@id": "https://w3id.org/ro/crate/1.1"}, {"@id": "https://w3id.org/workflowhub/workflow-ro-crate/1.0"}],
    })];
    let main = about.main.as_ref().map(|main| main.path.clone());
    if let Some(main) = &main {
        root["mainEntity"] = json!({"@id": main});
    }
    graph.push(root);
    for (id, name, version) in PROFILES {
        graph.push(json!({"@id": id, "@type": "CreativeWork", "name": name, "version": version}));
    }
    graph.extend(about.main.as_ref().map(|file| workflow(about, file)));
    let others = about.sources.iter().chain(&about.inputs).chain(&about.outputs).chain(&about.graph);
    graph.extend(others.map(file));
    graph.push(create_action(about, &action, main.as_deref()));
    graph.extend(fixed(about));
    graph.extend(about.agents.iter().enumerate().map(|(n, (name, model))| {
        json!({"@id": format!("#agent-{n}"), "@type": "SoftwareApplication", "name": name, "description": format!("an agent that asked {model}"),
               "softwareVersion": model})
    }));
    json!({"@context": ["https://w3id.org/ro/crate/1.1/context", "https://w3id.org/ro/terms/workflow-run/context"], "@graph": graph})
}

fn describing(about: &RunCrate) -> String {
    match about.description.is_empty() {
        true => format!("What Convoke recorded of a run of the workflow {}", about.workflow),
        false => about.description.clone(),
    }
}

fn workflow(about: &RunCrate, main: &CrateFile) -> Value {
    let ids = |files: &[CrateFile], kind: &str| {
        let id = |(n, _): (usize, &CrateFile)| json!({"@id": format!("#{kind}-{n}")});
        files.iter().enumerate().map(id).collect::<Vec<_>>()
    };
    let mut entry = file(main);
    entry["@type"] = json!(["File", "SoftwareSourceCode", "ComputationalWorkflow"]);
    entry["name"] = json!(about.workflow);
    entry["programmingLanguage"] = json!({"@id": LANGUAGE});
    entry["input"] = json!(ids(&about.inputs, "input"));
    entry["output"] = json!(ids(&about.outputs, "output"));
    entry
}

fn file(file: &CrateFile) -> Value {
    json!({
        "@id": file.path, "@type": "File", "name": file.name, "encodingFormat": file.media, "contentSize": file.size.to_string(),
    })
}

fn create_action(about: &RunCrate, id: &str, main: Option<&str>) -> Value {
    let mut action = json!({
        "@id": id, "@type": "CreateAction", "name": format!("run {}", about.run), "startTime": about.started,
        "agent": {"@id": "#convoke"},
        "object": about.inputs.iter().map(|file| json!({"@id": file.path})).collect::<Vec<_>>(),
        "result": about.outputs.iter().map(|file| json!({"@id": file.path})).collect::<Vec<_>>(),
    });
    if let Some(main) = main {
        action["instrument"] = json!({"@id": main});
    }
    if let Some(ended) = &about.ended {
        action["endTime"] = json!(ended);
    }
    let status = match about.succeeded {
        Some(true) => "CompletedActionStatus",
        Some(false) => "FailedActionStatus",
        None => "ActiveActionStatus",
    };
    action["actionStatus"] = json!({"@id": format!("http://schema.org/{status}")});
    action
}

/// What every crate of ours has, and the formal parameters behind its files.
fn fixed(about: &RunCrate) -> Vec<Value> {
    let parameter = |kind: &'static str| {
        move |(n, file): (usize, &CrateFile)| {
            json!({"@id": format!("#{kind}-{n}"), "@type": "FormalParameter", "additionalType": "File", "name": file.name,
                   "workExample": {"@id": file.path}, "valueRequired": false,
                   "conformsTo": {"@id": "https://bioschemas.org/profiles/FormalParameter/1.0-RELEASE"}})
        }
    };
    let mut all = vec![
        json!({"@id": "#license", "@type": "CreativeWork", "name": "not stated", "description": "The owner of the run says under which terms it may be used."}),
        json!({"@id": LANGUAGE, "@type": "ComputerLanguage", "name": "Convoke workflow", "identifier": {"@id": LANGUAGE},
               "url": {"@id": "https://w3id.org/convoke"}}),
        json!({"@id": "#convoke", "@type": "SoftwareApplication", "name": "Convoke", "softwareVersion": about.version,
               "url": {"@id": "https://w3id.org/convoke"}}),
    ];
    all.extend(about.inputs.iter().enumerate().map(parameter("input")));
    all.extend(about.outputs.iter().enumerate().map(parameter("output")));
    all
}
