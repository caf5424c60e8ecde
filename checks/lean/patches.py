"""The changes that make the Emscripten glue of Lean (`lean.js`) run under Node on a small machine.

Each is a textual replacement that must match exactly once: another build of the package is refused, not half patched.
"""

from __future__ import annotations

from dataclasses import dataclass

from checks.lean.failure import LeanFailure

# Environment variable that names the folder of the patched glue.
FOLDER_VARIABLE = "LEAN_FOLDER"


@dataclass(frozen=True)
class Patch:
    """`old` becomes `new`, because of `why`."""

    why: str
    old: str
    new: str


PATCHES = (
    Patch(
        "an index per library: searching 200,000 names for each symbol costs minutes per process",
        "newSymIndex=Object.keys(lib.exports).indexOf(symbol);",
        "newSymIndex=((e,s)=>{var all=(globalThis.symbolIndex??=new WeakMap());var m=all.get(e);"
        "if(!m||(!m.has(s)&&s in e)){m=new Map(Object.keys(e).map((k,i)=>[k,i]));all.set(e,m)}"
        "return m.get(s)??-1})(lib.exports,symbol);",
    ),
    Patch(
        "one worker: each parses 89 MB of JavaScript again; more are made when Lean asks for them",
        "pthreadPoolSize=4",
        "pthreadPoolSize=1",
    ),
    Patch(
        "a worker's default stack of 4 MB ends deep elaborations in a RangeError",
        'new Worker(pthreadMainJs,{workerData:"em-pthread",name:"em-pthread"})',
        'new Worker(pthreadMainJs,{workerData:"em-pthread",name:"em-pthread",'
        "resourceLimits:{stackSizeMb:256,maxOldGenerationSizeMb:4096}})",
    ),
    Patch(
        "the glue shows Lean only /home and /tmp, and the cache may lie elsewhere",
        'FS.mount(NODEFS,{root:"/home"},"/home");FS.mount(NODEFS,{root:"/tmp"},"/tmp");',
        'FS.mount(NODEFS,{root:"/home"},"/home");FS.mount(NODEFS,{root:"/tmp"},"/tmp");'
        f'{{const d=process.env["{FOLDER_VARIABLE}"];'
        "if(d&&!/^\\/(home|tmp)\\//.test(d)){FS.mkdirTree(d);FS.mount(NODEFS,{root:d},d)}}",
    ),
)


def patched(glue: str, patches: tuple[Patch, ...] = PATCHES) -> str:
    """The glue with every patch applied; raises `LeanFailure` where one does not match exactly once."""
    for patch in patches:
        found = glue.count(patch.old)
        if found != 1:
            raise LeanFailure(f"lean.js holds {found} times, not once: {patch.old[:60]}… ({patch.why})")
        glue = glue.replace(patch.old, patch.new)
    return glue
