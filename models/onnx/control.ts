import type { TypeOf, Value } from './graph.ts'
import { requireElem, requireRank } from './ops.ts'
import { formatShape, GraphError, sameShape, type Dim } from './shapes.ts'

/** If: one of two branches runs. Both must return values of the same types; condition is a bool scalar. */
export function ifElse(condition: Value, thenBranch: () => readonly Value[], elseBranch: () => readonly Value[]): readonly Value[] {
  requireElem('If', condition, 'bool')
  const { graph } = condition
  const yes = graph.subgraph('then', [], thenBranch)
  const no = graph.subgraph('else', [], elseBranch)
  yes.outputs.forEach((value, i) => {
    const other = no.outputs[i]
    if (!other || other.elem !== value.elem || !sameShape(value.shape, other.shape))
      throw new GraphError(`If: result ${i} differs between the branches`)
  })
  return graph.add({ op: 'If', domain: '' }, [condition], yes.outputs, { then_branch: { subgraph: yes }, else_branch: { subgraph: no } })
}

/** A value that a Loop carries: its start, and its type in the body where sizes change from round to round. */
export interface Carried {
  readonly name: string
  readonly initial: Value
  readonly type?: TypeOf
}

export interface LoopStart {
  /** i64 scalar. */
  readonly maxRounds: Value
  /** bool scalar: whether the first round follows. */
  readonly proceed: Value
  readonly carried: readonly Carried[]
  /** Name of the number of rounds in the shapes of what is collected. */
  readonly rounds: Dim
}

export interface LoopStep {
  /** bool scalar: whether another round follows. */
  readonly proceed: Value
  readonly carried: readonly Value[]
  /** Collected over the rounds. */
  readonly scans: readonly Value[]
}

export interface LoopResult {
  readonly carried: readonly Value[]
  readonly scans: readonly Value[]
}

/**
 * Loop: runs `body` while `proceed` holds, at most maxRounds times; 0 rounds are allowed.
 * Gives what is carried out of the last round, and the scans stacked along a new first axis of size `rounds`. Values of
 * enclosing graphs may be used in the body.
 */
export function loop({ maxRounds, proceed, carried, rounds }: LoopStart, body: (carried: readonly Value[]) => LoopStep): LoopResult {
  requireElem('Loop', maxRounds, 'i64')
  requireRank('Loop', maxRounds, 0)
  requireElem('Loop', proceed, 'bool')
  requireRank('Loop', proceed, 0)
  const { graph } = maxRounds
  const typeOf = ({ initial, type }: Carried): TypeOf => type ?? initial
  const inputs = [
    { name: 'round', type: { elem: 'i64', shape: [] } as const },
    { name: 'proceed', type: { elem: 'bool', shape: [] } as const },
    ...carried.map((entry) => ({ name: entry.name, type: typeOf(entry) })),
  ]
  let scanTypes: TypeOf[] = []
  const subgraph = graph.subgraph('loop', inputs, (given) => {
    const step = body(given.slice(2))
    scanTypes = step.scans.map(({ elem, shape }) => ({ elem, shape: [rounds, ...shape] }))
    step.carried.forEach((value, i) => {
      const entry = carried[i]
      if (!entry || typeOf(entry).elem !== value.elem || typeOf(entry).shape.length !== value.shape.length) {
        throw new GraphError(`Loop: carried value ${i} becomes ${value.elem} ${formatShape(value.shape)}`)
      }
    })
    return [step.proceed, ...step.carried, ...step.scans]
  })
  const results = graph.add(
    { op: 'Loop', domain: '' },
    [maxRounds, proceed, ...carried.map(({ initial }) => initial)],
    [...carried.map(typeOf), ...scanTypes],
    { body: { subgraph } },
  )
  return { carried: results.slice(0, carried.length), scans: results.slice(carried.length) }
}
