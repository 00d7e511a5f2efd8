import fc from 'fast-check'
import type { RouteListName } from '../../src/platform/base/kinds.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { GUARD_LIMITS } from '../../src/routes/guard.ts'
import type { Place, Route } from '../../src/upstream/route-list.ts'
import { place } from './sync-fixtures.ts'

/** The rules, with limits for lists of twenty routes. */
export const LIMITS = {
  ...GUARD_LIMITS,
  minimum: 4,
  absentShare: 0.25,
  emptiedDepartures: 1,
  removedPerDayShare: 0.6,
  growthFrom: 6,
  releaseHours: 0,
}

/** A list of the upstream: pairs as 'A-B', each set of attributes of a place; `body` is its bytes. */
export interface ModelList {
  readonly list: RouteListName
  readonly body: string
  readonly pairs: ReadonlySet<string>
  readonly spellings: readonly Place[]
}

/** The outcome of a run, in the numbers that the model and the database count. */
export interface ModelOutcome {
  readonly status: string
  /** The rules that a held list breaks; 'agreed' for a released one. */
  readonly reasons: readonly string[]
  readonly added: number
  readonly removed: number
  readonly returned: number
  readonly pendingAbsences: number
  readonly placesChanged: number
  readonly pendingPlaces: number
  readonly gained: number
  readonly lost: number
  readonly live: number
}

/** How a list is distorted before it arrives. */
export type Distortion =
  | 'none'
  | 'again'
  | 'shuffled'
  | 'duplicates'
  | 'contradiction'
  | 'half'
  | 'unknown_pair'
  | 'empty'
  | 'cut'
  | 'html'

export interface ListStep {
  readonly kind: 'list'
  readonly list: RouteListName
  /** Pairs that are toggled as routes, and pairs that are toggled as available. */
  readonly routes: readonly number[]
  readonly available: readonly number[]
  /** Places that get other attributes. */
  readonly edits: readonly { readonly place: number; readonly version: number }[]
  readonly distortion: Distortion
}

/** An operator decides about one of the held runs, if there is one. */
export interface DecisionStep {
  readonly kind: 'approve' | 'reject'
  readonly pick: number
}

export type Step = ListStep | DecisionStep

export interface Script {
  readonly confirmations: number
  /** Whether both lists arrive undistorted first. */
  readonly hasBaselines: boolean
  readonly routes: readonly number[]
  readonly steps: readonly Step[]
}

const PLACES = ['A', 'B', 'C', 'D', 'E', 'F', 'G']
/** Every ordered pair of two places. */
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
  distortion: fc.oneof(
    { weight: 5, arbitrary: fc.constant('none' as const) },
    { weight: 4, arbitrary: fc.constant('again' as const) },
    { weight: 3, arbitrary: fc.constant('half' as const) },
    {
      weight: 4,
      arbitrary: fc.constantFrom<Distortion>(
        'shuffled',
        'duplicates',
        'contradiction',
        'unknown_pair',
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
  hasBaselines: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.constant(false)),
  routes: fc.uniqueArray(aPair, { minLength: 12, maxLength: 30 }),
  steps: fc.array(
    fc.oneof({ weight: 8, arbitrary: listStep }, { weight: 1, arbitrary: decisionStep }),
    { minLength: 4, maxLength: 16 },
  ),
})

const plain = { kind: 'list', routes: [], available: [], edits: [], distortion: 'none' } as const

export function stepsOf({ hasBaselines, steps }: Script): Step[] {
  if (!hasBaselines) return [...steps]
  return [{ ...plain, list: 'routes' }, { ...plain, list: 'with-availability' }, ...steps]
}

const half = { ...plain, list: 'routes', distortion: 'half' } as const
const empty = { ...half, distortion: 'empty' } as const
const gain = { ...plain, list: 'with-availability', available: [0] } as const
const again = { ...half, distortion: 'again' } as const
const routes = { ...plain, list: 'routes' } as const
const availability = { ...plain, list: 'with-availability' } as const
const twenty = {
  confirmations: 2,
  hasBaselines: true,
  routes: Array.from({ length: 20 }, (_, n) => n),
}

/**
 * Sequences that random steps rarely produce: three agreeing lists, two alternating accidents, a list that is rejected, then
 * approved, and then repeated, every kind of change, and an approval of
 * a list after another was accepted.
 */
export const RARE: readonly Script[] = [
  { ...twenty, steps: [half, again, again, gain] },
  { ...twenty, steps: [half, empty, half, empty, half, half, half] },
  {
    ...twenty,
    steps: [
      ...[half, { kind: 'reject', pick: 0 } as const, again, again],
      ...[{ kind: 'approve', pick: 1 } as const, routes, half],
    ],
  },
  {
    ...twenty,
    steps: [
      ...[
        { ...routes, routes: [25], edits: [{ place: 0, version: 1 }] },
        { ...routes, routes: [25] },
        routes,
      ],
      ...[{ ...availability, available: [0, 1] }, availability, availability],
      ...[{ ...routes, distortion: 'html' as const }],
    ],
  },
  {
    ...twenty,
    steps: [
      ...[
        { ...availability, distortion: 'half' as const },
        { ...routes, routes: [30] },
      ],
      ...[{ kind: 'approve', pick: 0 } as const, { ...availability, distortion: 'again' as const }],
    ],
  },
]

/** The upstream: its routes, and the last list of each kind that it sent. */
export class ModelUpstream {
  readonly #routes: Set<number>
  readonly #available = new Set<number>()
  readonly #versions = new Map<string, number>()
  readonly #sent = new Map<RouteListName, ModelList>()

  constructor(routes: readonly number[]) {
    this.#routes = new Set(routes)
    for (const pair of routes) if (pair % 3 > 0) this.#available.add(pair)
  }

  /** The list of a step; null if the body is no list. */
  answer(step: ListStep): { body: string; list: ModelList | null } {
    const last = this.#sent.get(step.list)
    if (step.distortion === 'again' && last !== undefined) return { body: last.body, list: last }
    toggle(this.#routes, step.routes)
    toggle(this.#available, step.available)
    for (const { place: at, version } of step.edits) this.#versions.set(PLACES[at] ?? '', version)
    const routes = distorted(this.#list(step.list), step.distortion)
    const body = JSON.stringify(routes)
    if (step.distortion === 'cut') return { body: body.slice(0, -3), list: null }
    if (step.distortion === 'html') return { body: '<html>down</html>', list: null }
    const list = modelList(step.list, body, routes)
    this.#sent.set(step.list, list)
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

function distorted(routes: readonly Route[], distortion: Distortion): Route[] {
  if (distortion === 'empty') return []
  if (distortion === 'shuffled') return routes.toReversed()
  if (distortion === 'duplicates') return [...routes, ...routes.slice(0, 3)]
  if (distortion === 'half') return routes.filter((_, at) => at % 2 === 0)
  if (distortion === 'unknown_pair')
    return [...routes, { departure: place('X'), destination: place('Y') }]
  if (distortion === 'contradiction') {
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

export async function clearRoutes(db: Db): Promise<void> {
  await sql`
    truncate sync_run, route_availability_version, place_version, pending_absence, pending_place, snapshot
    restart identity cascade
  `.execute(db)
  await sql`update feed_head set last_seq = 0 where feed = 'route'`.execute(db)
}
