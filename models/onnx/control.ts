import type { TypeOf, Value } from './graph.ts'
import { requireElem, requireRank } from './ops.ts'
import { formatShape, GraphError, sameShape, type Dim } from './shapes.ts'

/** If: runs one of two branches. Both must return values of the same types; condition is a bool scalar. */
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

/** A value carried by a Loop: its start, and its type in the body if sizes change between iterations. */
export interface Carried {
  readonly name: string
  readonly initial: Value
  readonly type?: TypeOf
}

interface LoopStart {
  /** i64 scalar. */
  readonly maxRounds: Value
  /** bool scalar: whether to run the first iteration. */
  readonly proceed: Value
  readonly carried: readonly Carried[]
  /** Name of the number of iterations in the shapes of collected values. */
  readonly rounds: Dim
}

interface LoopIteration {
  /** bool scalar: whether to run another iteration. */
  readonly proceed: Value
  readonly carried: readonly Value[]
  /** Collected over the iterations. */
  readonly scans: readonly Value[]
}

/**
 * Loop: runs `body` while `proceed` holds, at most maxRounds times, possibly never. Returns the carried values of the last iteration, and
 * the scans stacked along a new first axis of size `rounds`. Values of enclosing graphs may be used in the body.
 */
export function loop({ maxRounds, proceed, carried, rounds }: LoopStart, body: (carried: readonly Value[]) => LoopIteration) {
  requireElem('Loop', maxRounds, 'i64')
  requireRank('Loop', maxRounds, 0)
  requireElem('Loop', proceed, 'bool')
  requireRank('Loop', proceed, 0)
  const { graph } = maxRounds
  const typeOf = ({ initial, type }: Carried): TypeOf => type ?? initial
  const inputs = [
    { name: 'round', type: { elem: 'i64', shape: [] } as const },
    { name: 'proceed', type: { elem: 'bool', shape: [] } as const },
    ...carried.map((value) => ({ name: value.name, type: typeOf(value) })),
  ]
  let scanTypes: TypeOf[] = []
  const subgraph = graph.subgraph('loop', inputs, (given) => {
    const iteration = body(given.slice(2))
    scanTypes = iteration.scans.map(({ elem, shape }) => ({ elem, shape: [rounds, ...shape] }))
    iteration.carried.forEach((value, i) => {
      const before = carried[i]
      if (!before || typeOf(before).elem !== value.elem || typeOf(before).shape.length !== value.shape.length)
        throw new GraphError(`Loop: carried value ${i} becomes ${value.elem} ${formatShape(value.shape)}`)
    })
    return [iteration.proceed, ...iteration.carried, ...iteration.scans]
  })
  const results = graph.add(
    { op: 'Loop', domain: '' },
    [maxRounds, proceed, ...carried.map(({ initial }) => initial)],
    [...carried.map(typeOf), ...scanTypes],
    { body: { subgraph } },
  )
  return { carried: results.slice(0, carried.length), scans: results.slice(carried.length) }
}
