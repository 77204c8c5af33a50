#!/usr/bin/env python3
"""Writes harbour.ttl: a company of 8 departments and 300 roles. Run it in this folder: python3 generate.py > harbour.ttl"""

SERVERS = {
    "infrastructure": ["systems-manager-mcp", "container-manager-mcp", "portainer-mcp", "tunnel-manager-mcp", "adguard-home-mcp", "uptime-kuma-mcp"],
    "it": ["repository-manager-mcp", "github-mcp", "gitlab-mcp", "ansible-tower-mcp"],
    "finance": ["data-science-mcp"],
    "research": ["scholarx-mcp", "data-science-mcp"],
    "admin": ["servicenow-mcp"],
    "media": ["postiz-mcp", "owncast-mcp", "media-downloader-mcp", "jellyfin-mcp"],
    "communications": ["atlassian-mcp", "servicenow-mcp"],
    "wellness": ["mealie-mcp", "wger-mcp"],
}
SIZES = {"infrastructure": 45, "it": 50, "finance": 38, "research": 42, "admin": 29, "media": 35, "communications": 34, "wellness": 26}
NAMES = {"it": "IT"}
LOOKS_AT = {
    "infrastructure": ["machines", "containers", "networks", "monitoring", "backups"],
    "it": ["repositories", "builds", "releases", "dependencies", "reviews"],
    "finance": ["costs", "risks", "forecasts", "contracts"],
    "research": ["sources", "data", "methods", "trends"],
    "admin": ["requests", "rules", "suppliers"],
    "media": ["posts", "streams", "archives", "rights"],
    "communications": ["announcements", "questions of customers", "the press"],
    "wellness": ["meals", "training", "working hours"],
}

HEAD = """\
# Harbour: a company of 8 departments and 300 roles, made by generate.py. Servers are described, and none is started by `--dry-run`.
#
#   convoke org check examples/company/harbour.ttl
#   convoke org show examples/company/harbour.ttl it
#   convoke run org:examples/company/harbour.ttl#finance -i query="Should we buy the building?" -p scripted --print-manifest
@prefix cv:   <https://w3id.org/convoke#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix :     <https://harbour.example/org#> .

:harbour a cv:Company ; rdfs:label "Harbour" ; cv:headedBy :director ;
    cv:hasDepartment :office , %s .

:models-of-all a cv:ModelPolicy ; cv:forUnit :harbour ; cv:model "openai:gpt-5-mini" .
:models-of-research a cv:ModelPolicy ; cv:forUnit :research ; cv:model "gemini:gemini-3-pro" .
:models-of-managers a cv:ModelPolicy ; cv:forClass cv:ManagerRole ; cv:model "anthropic:claude-sonnet-4-5" ; cv:rank 1 .
:models-of-heads a cv:ModelPolicy ; cv:forClass cv:HeadRole ; cv:model "anthropic:claude-opus-4-5" ; cv:rank 2 .

:office a cv:Department ; rdfs:label "Office" ; cv:headedBy :director ; cv:hasAgentRole :director .
:director rdfs:label "director" ;
    cv:task "Answer this question for the whole company, from what its departments found. Name departments that gave no result. The question: {{ query }}" .
"""


def server(name):
    return f':{name} a cv:MCPServer ; rdfs:label "{name}" ; cv:command "{name}" ; cv:arguments "--stdio" .'


def department(name, size):
    title = NAMES.get(name, name.capitalize())
    leads = max(1, (size - 1) // 11)
    workers = size - 1 - leads
    lead_names = [f"{name}-lead-{n + 1}" for n in range(leads)]
    worker_names = [f"{name}-{n + 1}" for n in range(workers)]
    servers = SERVERS[name]
    roles = [f"{name}-head", *lead_names, *worker_names]
    lines = [f':{name} a cv:Department ; rdfs:label "{title}" ; cv:headedBy :{name}-head ;']
    if name in ("infrastructure", "research"):
        lines.append(f"    cv:offersTool :{servers[0]} ;")
    if name == "finance":
        lines.append("    cv:dependsOnDepartment :it , :research ;")
    if name == "communications":
        lines.append("    cv:informedByDepartment :finance ;")
    lines.append("    cv:hasAgentRole " + " ,\n        ".join(f":{role}" for role in roles) + " .")
    lines.append(f':{name}-head rdfs:label "head of {title}" ; cv:reportsTo :director ;')
    lines.append('    cv:successCriteria "says what the department recommends, and what that rests on" .')
    lines += [f':{lead} rdfs:label "{title} lead {n + 1}" ; cv:reportsTo :{name}-head .' for n, lead in enumerate(lead_names)]
    topics = LOOKS_AT[name]
    for n, worker in enumerate(worker_names):
        topic, tool = topics[n % len(topics)], servers[n % len(servers)]
        lines.append(f':{worker} rdfs:label "{title} specialist {n + 1}" ; cv:reportsTo :{lead_names[n % leads]} ; cv:usesTool :{tool} ;')
        lines.append(f'    cv:task "What do {topic} say about this question? {{{{ query }}}}" .')
    return "\n".join(lines)


def main():
    assert 1 + sum(SIZES.values()) == 300, sum(SIZES.values())
    print(HEAD % " , ".join(f":{name}" for name in SIZES))
    servers = sorted({server for list_ in SERVERS.values() for server in list_})
    assert len(servers) == 20, len(servers)
    print("\n".join(server(name) for name in servers))
    for name, size in SIZES.items():
        print()
        print(department(name, size))


main()
