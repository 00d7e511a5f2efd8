import fc from 'fast-check'
import type { Place, Route, RouteListName } from '../../src/upstream/route-list.ts'
import { place } from './sync-fixtures.ts'

/** A list as the upstream meant it: pairs as 'A-B', each spelling of a place; `body` is its bytes. */
export interface ModelList {
  readonly list: RouteListName
  readonly body: string
  readonly pairs: ReadonlySet<string>
  readonly spellings: readonly Place[]
}

/** What came of a run, in numbers that both sides count. */
export interface ModelOutcome {
  readonly status: string
  /** The rules that a held list breaks; 'agreed' of one that was released. */
  readonly reasons: readonly string[]
  readonly added: number
  readonly removed: number
  readonly returned: number
  readonly pendingAbsences: number
  readonly placesChanged: number
  readonly gained: number
  readonly lost: number
  readonly live: number
}

/** What becomes of a list on its way. */
export type Twist =
  | 'none'
  | 'again'
  | 'shuffled'
  | 'duplicates'
  | 'contradiction'
  | 'half'
  | 'strangers'
  | 'empty'
  | 'cut'
  | 'html'

export interface ListStep {
  readonly kind: 'list'
  readonly list: RouteListName
  /** Pairs that begin or cease to be routes, then those that become available or cease to. */
  readonly routes: readonly number[]
  readonly available: readonly number[]
  /** Places that are given other attributes. */
  readonly edits: readonly { readonly place: number; readonly version: number }[]
  readonly twist: Twist
}

/** A person decides about one of the held runs; about none where there are none. */
export interface DecisionStep {
  readonly kind: 'approve' | 'reject'
  readonly pick: number
}

export type Step = ListStep | DecisionStep

export interface Script {
  readonly confirmations: number
  /** Whether both lists come as they should before anything else. */
  readonly settled: boolean
  readonly routes: readonly number[]
  readonly steps: readonly Step[]
}

const PLACES = ['A', 'B', 'C', 'D', 'E', 'F', 'G']
/** Every pair of two places. */
const PAIRS = PLACES.flatMap((from) =>
  PLACES.filter((to) => to !== from).map((to) => `${from}-${to}`),
)

const aPair = fc.nat({ max: PAIRS.length - 1 })

const listStep: fc.Arbitrary<ListStep> = fc.record({
  kind: fc.constant('list' as const),
  list: fc.oneof(
    { weight: 3, arbitrary: fc.constant('routes' as const) },
    { weight: 2, arbitrary: fc.constant('with-availability' as const) },
  ),
  routes: fc.oneof(
    fc.constant([]),
    fc.uniqueArray(aPair, { maxLength: 3 }),
    fc.uniqueArray(aPair, { maxLength: 24 }),
  ),
  available: fc.uniqueArray(aPair, { maxLength: 6 }),
  edits: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    {
      weight: 1,
      arbitrary: fc.array(
        fc.record({ place: fc.nat({ max: PLACES.length - 1 }), version: fc.nat({ max: 2 }) }),
        { maxLength: 5 },
      ),
    },
  ),
  twist: fc.oneof(
    { weight: 5, arbitrary: fc.constant('none' as const) },
    { weight: 4, arbitrary: fc.constant('again' as const) },
    { weight: 3, arbitrary: fc.constant('half' as const) },
    {
      weight: 4,
      arbitrary: fc.constantFrom<Twist>(
        'shuffled',
        'duplicates',
        'contradiction',
        'strangers',
        'empty',
        'cut',
        'html',
      ),
    },
  ),
})

const decisionStep: fc.Arbitrary<DecisionStep> = fc.record({
  kind: fc.constantFrom('approve' as const, 'reject' as const),
  pick: fc.nat({ max: 5 }),
})

export const anyScript: fc.Arbitrary<Script> = fc.record({
  confirmations: fc.integer({ min: 1, max: 3 }),
  settled: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.constant(false)),
  routes: fc.uniqueArray(aPair, { minLength: 12, maxLength: 30 }),
  steps: fc.array(
    fc.oneof({ weight: 8, arbitrary: listStep }, { weight: 1, arbitrary: decisionStep }),
    { minLength: 4, maxLength: 16 },
  ),
})

const plain = { kind: 'list', routes: [], available: [], edits: [], twist: 'none' } as const

export function stepsOf({ settled, steps }: Script): Step[] {
  if (!settled) return [...steps]
  return [{ ...plain, list: 'routes' }, { ...plain, list: 'with-availability' }, ...steps]
}

const half = { ...plain, list: 'routes', twist: 'half' } as const
const empty = { ...half, twist: 'empty' } as const
const gain = { ...plain, list: 'with-availability', available: [0] } as const
const again = { ...half, twist: 'again' } as const
const twenty = { confirmations: 2, settled: true, routes: Array.from({ length: 20 }, (_, n) => n) }

/**
 * What chance seldom brings: three lists that agree, two accidents in turn, and a person who rejects one before
 * approving it, after which it comes again.
 */
export const SELDOM: readonly Script[] = [
  { ...twenty, steps: [half, again, again, gain] },
  { ...twenty, steps: [half, empty, half, empty, half, half, half] },
  {
    ...twenty,
    steps: [
      ...[half, { kind: 'reject', pick: 0 } as const, again, again],
      ...[{ kind: 'approve', pick: 1 } as const, { ...plain, list: 'routes' } as const, half],
    ],
  },
]

/** The upstream: what it would say, and what it said last. */
export class ModelUpstream {
  readonly #routes: Set<number>
  readonly #available = new Set<number>()
  readonly #versions = new Map<string, number>()
  readonly #said = new Map<RouteListName, ModelList>()

  constructor(routes: readonly number[]) {
    this.#routes = new Set(routes)
    for (const pair of routes) if (pair % 3 > 0) this.#available.add(pair)
  }

  /** The list that a step brings; null where what comes is none. */
  answer(step: ListStep): { body: string; list: ModelList | null } {
    const last = this.#said.get(step.list)
    if (step.twist === 'again' && last !== undefined) return { body: last.body, list: last }
    toggle(this.#routes, step.routes)
    toggle(this.#available, step.available)
    for (const { place: at, version } of step.edits) this.#versions.set(PLACES[at] ?? '', version)
    const routes = twisted(this.#list(step.list), step.twist)
    const body = JSON.stringify(routes)
    if (step.twist === 'cut') return { body: body.slice(0, -3), list: null }
    if (step.twist === 'html') return { body: '<html>down</html>', list: null }
    const list = modelList(step.list, body, routes)
    this.#said.set(step.list, list)
    return { body, list }
  }

  #list(list: RouteListName): Route[] {
    const pairs = [...this.#routes].filter((n) => list === 'routes' || this.#available.has(n))
    return pairs
      .sort((a, b) => a - b)
      .map((n) => {
        const [from = '', to = ''] = (PAIRS[n] ?? '').split('-')
        return { departure: this.#place(from), destination: this.#place(to) }
      })
  }

  #place(id: string): Place {
    const version = this.#versions.get(id) ?? 0
    return place(
      id,
      version === 0 ? {} : { city: `City ${id} ${version}`, iata: `${version}${id}` },
    )
  }
}

function toggle(set: Set<number>, members: readonly number[]): void {
  for (const member of members) if (!set.delete(member)) set.add(member)
}

function twisted(routes: readonly Route[], twist: Twist): Route[] {
  if (twist === 'empty') return []
  if (twist === 'shuffled') return routes.toReversed()
  if (twist === 'duplicates') return [...routes, ...routes.slice(0, 3)]
  if (twist === 'half') return routes.filter((_, at) => at % 2 === 0)
  if (twist === 'strangers') return [...routes, { departure: place('X'), destination: place('Y') }]
  if (twist === 'contradiction') {
    const other = (at: Place): Place => (at.id === 'C' ? { ...at, city: 'Another' } : at)
    return routes.map((route, at) =>
      at % 2 === 0
        ? route
        : { departure: other(route.departure), destination: other(route.destination) },
    )
  }
  return [...routes]
}

function modelList(list: RouteListName, body: string, routes: readonly Route[]): ModelList {
  return {
    list,
    body,
    pairs: new Set(routes.map((route) => `${route.departure.id}-${route.destination.id}`)),
    spellings: routes.flatMap((route) => [route.departure, route.destination]),
  }
}
