"""Rules about one port: who holds it, and whether that is in anybody's way.

Whoever asks about a port wants it, so a holder that is not of the target's own family is in the
way. The rules say what would free the port; nothing here does it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dea.contracts.data import Metric, Process, Socket, SyscallError
from dea.rules.draft import Cited, Draft, Facts, Rule
from dea.rules.port_view import Holder, Port, ports

_FORWARDERS = ("docker-proxy", "rootlessport", "slirp4netns", "pasta", "conmon")


def held(facts: Facts) -> Iterator[Draft]:
    """Each process that listens on the port or is bound to it."""
    for port in ports(facts):
        holders = port.holders("tcp")
        target_too = any(holder.is_target for holder in holders)
        for holder in holders:
            if holder.is_target and not port.refusals:
                yield _own(port, holder)
            else:
                yield _in_the_way(port, holder, shared=target_too and not port.refusals)


def held_for_udp(facts: Facts) -> Iterator[Draft]:
    """UDP ports are counted apart: a UDP socket keeps nobody from listening on TCP."""
    for port in ports(facts):
        for holder in port.holders("udp"):
            if holder.is_target:
                yield _own(port, holder)
                continue
            free = "" if port.holders("tcp") else "; the TCP port of this number is not listened on"
            yield Draft(
                "info" if port.holders("tcp") else "warn",
                f"UDP port {port.number} is held by {_who(holder)}, bound to {_places(holder)}"
                f"{_since(holder)}{free}",
                holder.ids,
                "observed",
                _how_to_free(port, holder),
                weight=0.5,
            )


def clash_with_outgoing(facts: Facts) -> Iterator[Draft]:
    """Nobody listens, but a client connection happens to use the port as its own end."""
    for port in ports(facts):
        connections = port.connections("outbound")
        if port.holders("tcp") or not connections:
            continue
        first = connections[0].data
        low = [c.id for c in facts.of(Metric) if c.data.name == "ip_local_port_range_low"]
        yield Draft(
            "info" if first.held_by_target and not port.refusals else "high",
            f"port {port.number} is the local port of an outgoing connection of pid {first.pid} "
            f"({first.command}) to {first.remote}; nobody listens on it",
            [c.id for c in connections] + low + port.refusals,
            "observed",
            "The kernel gave it out from the range for outgoing connections. Binding it works once "
            "that connection is closed. To keep the port free, choose one outside "
            "net.ipv4.ip_local_port_range or add it to net.ipv4.ip_local_reserved_ports.",
            weight=0.9,
        )


def left_by_a_listener(facts: Facts) -> Iterator[Draft]:
    """The listener is gone, but connections that it accepted live on."""
    for port in ports(facts):
        connections = port.connections("inbound")
        if port.holders("tcp") or not connections:
            continue
        first, count = connections[0].data, sum(c.data.count for c in connections)
        yield Draft(
            "info" if first.held_by_target and not port.refusals else "warn",
            f"nobody listens on port {port.number}, but pid {first.pid} ({first.command}) still "
            f"holds {_connections(count)} that a former listener accepted",
            [c.id for c in connections] + port.refusals,
            "observed",
            "A new listener can bind only with SO_REUSEADDR, or after that process has closed them.",
            weight=0.7,
        )


def only_remains(facts: Facts) -> Iterator[Draft]:
    """Nothing but closed connections that the kernel keeps for a while."""
    for port in ports(facts):
        closing = port.closing()
        if port.holders("tcp") or port.connections("inbound") or port.connections("outbound"):
            continue
        if not closing:
            continue
        count = sum(cited.data.count for cited in closing)
        states = ", ".join(dict.fromkeys(cited.data.state for cited in closing))
        yield Draft(
            "warn" if port.refusals else "info",
            f"nobody holds port {port.number}: all that is left is {_connections(count)} that "
            f"ended ({states})",
            [c.id for c in closing] + port.refusals,
            "observed",
            "They go by themselves within a minute. A server that sets SO_REUSEADDR before bind "
            "does not have to wait for them.",
            weight=0.8 if port.refusals else 0.2,
        )


def free(facts: Facts) -> Iterator[Draft]:
    """No TCP or UDP socket uses the port at all."""
    for port in ports(facts):
        if not port.sockets:
            yield Draft(
                "info",
                f"nobody holds port {port.number}: it is free in this network namespace",
                [port.summary.id, *port.refusals],
                "observed",
                "It was refused before, so whoever held it has let go since."
                if port.refusals
                else "",
                weight=0.3,
            )


def elsewhere(facts: Facts) -> Iterator[Draft]:
    """Listeners in other network namespaces, which are no conflict but a frequent confusion."""
    for port in ports(facts):
        if not port.elsewhere:
            continue
        first = port.elsewhere[0].data
        more = f" and {len(port.elsewhere) - 1} others" if len(port.elsewhere) > 1 else ""
        yield Draft(
            "info",
            f"pid {first.pid} ({first.command}){more} listens on {first.local} in another network "
            f"namespace, which does not keep port {port.number} busy here",
            [cited.id for cited in port.elsewhere],
            "observed",
            weight=0.1,
        )


def not_allowed(facts: Facts) -> Iterator[Draft]:
    """The port needs a right that the target lacks; that is another error than "in use"."""
    denied = [
        c.id for c in facts.of(SyscallError) if c.data.name == "bind" and c.data.errno == "EACCES"
    ]
    for cited in facts.of(Metric):
        if cited.data.name == "ip_unprivileged_port_start":
            yield Draft(
                "high" if denied else "info",
                f"process {cited.data.pid} may not bind ports below {cited.data.value:.0f}: it "
                "gets permission denied, whoever holds the port",
                [cited.id, *denied],
                "observed",
                "It needs CAP_NET_BIND_SERVICE, or a lower net.ipv4.ip_unprivileged_port_start.",
                weight=0.9 if denied else 0.1,
            )


def _own(port: Port, holder: Holder) -> Draft:
    protocol = holder.sockets[0].data.protocol
    return Draft(
        "info",
        f"{protocol} port {port.number} is held by the target itself: {_who(holder)}, "
        f"{_verb(holder)} {_places(holder)}{_since(holder)}; that is normal",
        holder.ids,
        "observed",
        weight=0.4,
    )


def _in_the_way(port: Port, holder: Holder, shared: bool) -> Draft:
    reuse = shared and any(cited.data.reuse_port for cited in holder.sockets)
    beside = " beside the target" if shared else ""
    return Draft(
        "info" if shared else "high",
        f"port {port.number} is held by {_who(holder)}{beside}, {_verb(holder)} {_places(holder)}"
        f"{_since(holder)}{_started_by(holder)}{_inherited(holder)}",
        [*holder.ids, *port.refusals],
        "observed",
        "Both share the address with SO_REUSEPORT: each gets a part of the connections."
        if reuse
        else _how_to_free(port, holder),
        weight=0.5 if shared else 1.0,
    )


def _who(holder: Holder) -> str:
    sock = holder.sockets[0].data
    if holder.pid is None:
        return f"a socket of {sock.user} that no process we can see holds"
    return f"pid {holder.pid} ({sock.command}, user {sock.user})"


def _verb(holder: Holder) -> str:
    listens = any(cited.data.state == "LISTEN" for cited in holder.sockets)
    udp = holder.sockets[0].data.protocol == "udp"
    return "listening on" if listens else "bound to" if udp else "bound, without listening, to"


def _places(holder: Holder) -> str:
    return " and ".join(dict.fromkeys(cited.data.local for cited in holder.sockets))


def _since(holder: Holder) -> str:
    started = holder.sockets[0].data.started_at
    return f"; it runs since {started[:19].replace('T', ' ')}" if started else ""


def _started_by(holder: Holder) -> str:
    process = holder.process.data if holder.process else None
    if process is None or not process.parents:
        return ""
    pid, _, name = process.parents[0].partition(" ")
    return f", started by pid {pid} {name}"


def _inherited(holder: Holder) -> str:
    others = holder.others
    if not others:
        return ""
    return f"; pid{'s' * (len(others) > 1)} {', '.join(map(str, others))} hold the same socket"


def _how_to_free(port: Port, holder: Holder) -> str:
    """What the user may do, and what explains the holder."""
    process = holder.process.data if holder.process else None
    said = list(_about(process)) if process else []
    if holder.pid is None:
        said.append(
            "Its holder is a process whose descriptors may not be read (run DEA as root), one in "
            "another pid namespace, or the kernel itself (NFS, WireGuard)."
        )
    if any(cited.data.reuse_port for cited in holder.sockets):
        said.append("Several sockets share this address with SO_REUSEPORT: all of them must go.")
    if holder.others:
        said.append(
            "The socket was inherited or passed on: the port stays busy until every holder has "
            "closed it."
        )
    if _takes_ipv4_too(holder.sockets):
        said.append("An IPv6 wildcard that is not IPv6-only takes the port for IPv4 as well.")
    stop = f" (kill {holder.pid})" if holder.pid and not (process and _is_kept_up(process)) else ""
    said.append(f"Stop the holder{stop} or let one of the two use another port than {port.number}.")
    return " ".join(said)


def _connections(count: int) -> str:
    return "1 connection" if count == 1 else f"{count} connections"


def _about(process: Process) -> Iterator[str]:
    if process.comm in _FORWARDERS:
        yield f"{process.comm} forwards the port to a container: stop that container instead."
    if process.container:
        yield f"It runs in container {process.container}."
    if process.unit:
        yield f"It belongs to {process.unit} (systemctl stop {process.unit})."
    if process.pid == 1:
        yield "Init holds it, so a socket unit may have it open (systemctl list-sockets)."
    if process.orphaned:
        yield "Whoever started it has ended and left it behind."
    if process.cwd:
        yield f"Its working folder is {process.cwd}."


def _is_kept_up(process: Process) -> bool:
    """Ending the process is not the way: a service manager or a container starts it again."""
    return bool(process.unit or process.container or process.pid == 1) or (
        process.comm in _FORWARDERS
    )


def _takes_ipv4_too(sockets: Sequence[Cited[Socket]]) -> bool:
    return any(c.data.ipv6_only is False and c.data.local.startswith("[::]") for c in sockets)


PORT_RULES: tuple[Rule, ...] = (
    held,
    held_for_udp,
    clash_with_outgoing,
    left_by_a_listener,
    only_remains,
    free,
    elsewhere,
    not_allowed,
)


def _without_target(facts: Facts) -> Iterator[Draft]:
    """Nobody is known to need the port, so its holder may have it by right: no more than a warning."""
    for rule in PORT_RULES:
        for draft in rule(facts):
            yield replace(draft, severity="warn") if draft.severity == "high" else draft


RULES_WITHOUT_TARGET: tuple[Rule, ...] = (_without_target,)
