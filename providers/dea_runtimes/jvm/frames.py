"""Java frames: how they are called, and which are the user's own."""

import re

from dea.contracts.data import Frame
from dea.profile.stacks import said

# What a program is built from, not what it is about.
_LIBRARIES = (
    *("java.", "javax.", "jdk.", "sun.", "com.sun.", "jakarta.", "oracle.", "com.oracle."),
    *("kotlin.", "kotlinx.", "scala.", "groovy.", "org.codehaus.groovy.", "clojure."),
    *("org.springframework.", "org.apache.", "org.eclipse.", "org.hibernate.", "org.jboss."),
    *("io.netty.", "io.vertx.", "io.grpc.", "io.undertow.", "io.micrometer.", "io.quarkus."),
    *("io.micronaut.", "io.lettuce.", "io.reactivex.", "io.opentelemetry.", "reactor.", "rx."),
    *("akka.", "org.glassfish.", "org.slf4j.", "ch.qos.logback.", "com.fasterxml.", "okhttp3."),
    *("okio.", "com.google.common.", "com.google.gson.", "com.google.protobuf.", "com.zaxxer."),
    *("com.mysql.", "org.postgresql.", "org.mariadb.", "com.mongodb.", "org.h2.", "org.sqlite."),
    *("redis.clients.", "com.rabbitmq.", "org.junit.", "org.mockito.", "net.bytebuddy."),
)
_MODULE_OF_JDK = re.compile(r"^(?:java|jdk)\.[\w.]+(?:@[^/]*)?/")
_PLACE = re.compile(r"^(?:.*/)?(?P<file>[^/:]+\.\w+)(?::(?P<line>\d+))?$")
# Classes that the JVM makes for lambdas and reflection: their frames only pass a call on.
_HIDDEN = re.compile(
    r"\$\$Lambda|^java\.lang\.invoke\.|^jdk\.internal\.reflect\.|^sun\.reflect\."
    r"|^java\.lang\.reflect\.Method\.invoke$"
)

MONITOR_ENTER = Frame(function="monitor enter", module="JVM")
_COLLECTING = "garbage collection"
_WORK = (
    (
        re.compile(r"GC Thread|G1 |ZWorker|ZDriver|Shenandoah|CMS |Concurrent Mark"),
        _COLLECTING,
    ),
    (re.compile(r"C[12] CompilerThre|Sweeper thread|JVMCI"), "compilation by the JIT"),
    (re.compile(r"VM Thread"), "operations of the VM"),
)


def java_frame(method: str, place: str) -> Frame | None:
    """From `com.shop.Cart.total` and `Cart.java:12`; None for one that only passes a call on."""
    if _HIDDEN.search(method):
        return None
    class_name, _, name = method.rpartition(".")
    package, _, short = class_name.rpartition(".")
    found = _PLACE.match(place)
    return Frame(
        function=said(f"{short}.{name}" if short else name),
        file=said(found["file"], 100) if found else None,
        line=int(found["line"]) if found and found["line"] else None,
        module=said(package, 100) or None,
        own=not _MODULE_OF_JDK.match(place) and not method.startswith(_LIBRARIES),
    )


def work_of_machine(thread: str, *, has_collectors: bool) -> Frame | None:
    """What a thread of the JVM itself does, by its name. Where the collector has no threads of its
    own, nearly all that the VM Thread does is to collect."""
    for pattern, work in _WORK:
        if pattern.match(thread):
            collects = thread == "VM Thread" and not has_collectors
            return Frame(function=_COLLECTING if collects else work, module="JVM")
    return None


def is_collector(thread: str) -> bool:
    """Whether a thread of that name only collects garbage."""
    return work_of_machine(thread, has_collectors=True) == Frame(function=_COLLECTING, module="JVM")
