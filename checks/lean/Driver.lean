/-
Builds and audits modules in one process: `lean --run Driver.lean MODE LIB NAME…`, MODE `stop` (at the first module that
fails) or `each` (go on). A module prints its messages, then one line `MODULE …` with its milliseconds, or `FAILED …`.
Every declaration of a module, private ones too, is swept: `BAD …` names a `sorry`, an axiom of its own, compiled trust.
Imported names are leaves: they are audited in their own module. The last line is `ALL DONE`; the exit status of `--run` under
WebAssembly says nothing.
-/
import Lean
open Lean Elab
public partial def nm : Name → String
  | .str .anonymous s => s
  | .str p s => nm p ++ "." ++ s
  | .num p k => nm p ++ "." ++ Nat.repr k
  | _ => "?"
public partial def chk (env : Environment) (of : String) (a : Array Name) (i : Nat) : IO Unit := do
  if i < a.size then
    let n := a[i]!
    if n == ``sorryAx then IO.println ("BAD " ++ of ++ " sorryAx")
    if n == ``Lean.ofReduceBool then IO.println ("BAD " ++ of ++ " ofReduceBool")
    if n == ``Lean.trustCompiler then IO.println ("BAD " ++ of ++ " trustCompiler")
    match env.getModuleIdxFor? n with
    | some _ => pure ()
    | none => IO.println ("BAD " ++ of ++ " own axiom " ++ nm n)
    chk env of a (i+1)
instance : Inhabited (PersistentHashMap.Entry Name ConstantInfo (PersistentHashMap.Node Name ConstantInfo)) := ⟨.null⟩
public def step (env : Environment) (k : Nat) (n : Name) (ci : ConstantInfo) : IO Nat := do
  match env.getModuleIdxFor? n with
  | some _ => return k
  | none =>
    let (_, s) := ((CollectAxioms.collect n).run env).run {}
    chk env (nm n) s.axioms 0
    match ci with
    | .axiomInfo _ => IO.println ("BAD axiom " ++ nm n); return k
    | .thmInfo _ => return k+1
    | _ => return k
public partial def walk (env : Environment) (nd : PersistentHashMap.Node Name ConstantInfo) (i k : Nat) : IO Nat := do
  match nd with
  | .entries a =>
    if i < a.size then
      let k ← match a[i]! with
        | .entry n ci => step env k n ci
        | .ref c => walk env c 0 k
        | .null => pure k
      walk env nd (i+1) k
    else return k
  | .collision ks vs _ =>
    if i < ks.size then
      let k ← match env.find? ks[i]! with | some ci => step env k ks[i]! ci | none => pure k
      walk env nd (i+1) k
    else return k
public def go (lib f : String) : IO Bool := do
  let t0 ← IO.monoMsNow
  let root := f == lib
  let src := if root then f ++ ".lean" else lib ++ "/" ++ f ++ ".lean"
  let out := if root then "build/" ++ f ++ ".olean" else "build/" ++ lib ++ "/" ++ f ++ ".olean"
  let name : Name := if root then .str .anonymous f else .str (.str .anonymous lib) f
  let s ← IO.FS.readFile src
  let opts : Options := {}
  let opts := (opts.setBool `Elab.async false).setBool `warningAsError (lib != "Fixtures")
  let r ← Lean.Elab.runFrontend s opts src name 0 (some out)
  match r with
  | none => IO.println ("FAILED " ++ nm name); return false
  | some env =>
    let t1 ← IO.monoMsNow
    let k ← walk env env.constants.map₂.root 0 0
    let t2 ← IO.monoMsNow
    IO.println ("MODULE " ++ nm name ++ " " ++ Nat.repr (t1 - t0) ++ " " ++ Nat.repr (t2 - t1) ++ " " ++ Nat.repr k)
    return true
public partial def all (each : Bool) (lib : String) (fs : List String) : IO Unit := do
  match fs with
  | [] => IO.println "ALL DONE"
  | f :: fs =>
    IO.println ("BEGIN " ++ f)
    if (← go lib f) || each then all each lib fs else IO.println "STOPPED"
public def main (args : List String) : IO UInt32 := do
  match args with
  | mode :: lib :: fs => IO.println ("LEAN " ++ Lean.versionString); all (mode == "each") lib fs; return 0
  | _ => return 1
