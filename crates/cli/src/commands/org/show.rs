//! `convoke org show`: departments, or one department or role.

use crate::args::{Format, OrgShowArgs};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::organisation::{department_of, read};
use crate::view::columns::Columns;
use convoke_knowledge::org::{Chart, Department, Role, load};
use convoke_knowledge::vocab::local;
use serde_json::{Value, json};

/// Prints what was asked for.
pub fn run(console: &Console, args: &OrgShowArgs) -> Result<Exit, CommandFailure> {
    let text = read(&args.file)?;
    let (organisation, found) = load(&[text]);
    let Some(organisation) = organisation else {
        found.iter().for_each(|one| console.finding(one, true));
        let words = format!("organisation `{}` is refused", args.file.display());
        return Err(CommandFailure::new(Exit::Refused, words));
    };
    let chart = &organisation.chart;
    match (&args.name, args.format) {
        (None, Format::Text) => console.data(&departments(chart))?,
        (None, Format::Json) => console.json(&whole(chart))?,
        (Some(name), format) => one(console, chart, name, &args.file.display().to_string(), format)?,
    }
    Ok(Exit::Success)
}

fn one(
    console: &Console,
    chart: &Chart,
    name: &str,
    file: &str,
    format: Format,
) -> Result<(), CommandFailure> {
    if let Some((iri, role)) = chart.role(name) {
        return match format {
            Format::Text => console.data(&role_page(chart, iri, role)),
            Format::Json => console.json(&role_record(chart, iri, role)),
        };
    }
    let iri = department_of(chart, name, file)?;
    match format {
        Format::Text => console.data(&roles(chart, &iri)),
        Format::Json => {
            let all: Vec<Value> =
                chart.roles_of(&iri).map(|(iri, role)| role_record(chart, iri, role)).collect();
            console.json(&all)
        }
    }
}

fn departments(chart: &Chart) -> String {
    let mut table = Columns::new(["DEPARTMENT", "NAME", "HEAD", "ROLES", "SERVERS", "AFTER"]);
    for (iri, department) in &chart.departments {
        let servers: std::collections::BTreeSet<&String> =
            chart.roles_of(iri).flat_map(|(_, role)| &role.servers).collect();
        table.add_row([
            local(iri).to_owned(),
            department.name.clone(),
            head(chart, department),
            chart.roles_of(iri).count().to_string(),
            servers.len().to_string(),
            after(department),
        ]);
    }
    table.text()
}

fn head(chart: &Chart, department: &Department) -> String {
    let role = department.head.as_ref().and_then(|head| chart.roles.get(head));
    role.map(|role| role.id.clone()).unwrap_or_default()
}

fn after(department: &Department) -> String {
    let after = department.starts_after.iter().chain(&department.informed_by);
    after.map(|iri| local(iri)).collect::<Vec<_>>().join(", ")
}

fn roles(chart: &Chart, department: &str) -> String {
    let mut table = Columns::new(["ROLE", "NAME", "REPORTS TO", "REPORTS", "MODEL", "TOOLS"]);
    for (_, role) in chart.roles_of(department) {
        table.add_row([
            role.id.clone(),
            role.label.clone().unwrap_or_default(),
            ids(chart, &role.superiors).join(", "),
            role.reports.len().to_string(),
            role.model.clone().unwrap_or_default(),
            servers(chart, role).join(", "),
        ]);
    }
    table.text()
}

fn ids(chart: &Chart, roles: &std::collections::BTreeSet<String>) -> Vec<String> {
    roles
        .iter()
        .map(|iri| chart.roles.get(iri).map_or_else(|| local(iri).to_owned(), |role| role.id.clone()))
        .collect()
}

fn servers(chart: &Chart, role: &Role) -> Vec<String> {
    let servers =
        role.servers.iter().filter_map(|iri| chart.servers.get(iri)).map(|server| server.name.clone());
    servers.chain(role.tools.iter().cloned()).collect()
}

fn role_page(chart: &Chart, iri: &str, role: &Role) -> String {
    let mut lines =
        vec![format!("{}  {}", role.id, role.label.as_deref().unwrap_or_default()).trim_end().to_owned()];
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("  {name:<12} {value}"));
        }
    };
    let department = role.departments.first().and_then(|iri| chart.departments.get(iri));
    line("iri", iri.to_owned());
    line("department", department.map(|one| one.name.clone()).unwrap_or_default());
    line("reports to", ids(chart, &role.superiors).join(", "));
    line("reports", ids(chart, &role.reports).join(", "));
    line("model", role.model.clone().unwrap_or_default());
    line("tools", servers(chart, role).join(", "));
    for (name, value) in &role.words {
        line(name, value.clone());
    }
    lines.join("\n") + "\n"
}

fn role_record(chart: &Chart, iri: &str, role: &Role) -> Value {
    json!({
        "iri": iri, "id": role.id, "label": role.label, "department": role.departments.first(),
        "reports_to": ids(chart, &role.superiors), "reports": ids(chart, &role.reports), "model": role.model,
        "tools": servers(chart, role), "words": role.words,
    })
}

fn whole(chart: &Chart) -> Value {
    let departments: Vec<Value> = chart
        .departments
        .iter()
        .map(|(iri, one)| {
            let roles: Vec<&String> = chart.roles_of(iri).map(|(_, role)| &role.id).collect();
            json!({"iri": iri, "name": one.name, "head": head(chart, one), "roles": roles,
                   "starts_after": one.starts_after, "informed_by": one.informed_by})
        })
        .collect();
    json!({"company": chart.company, "name": chart.name, "departments": departments})
}
