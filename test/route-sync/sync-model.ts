import type { GuardLimits } from '../../src/route-sync/plan/guard.ts'
import type { RouteListName } from '../../src/upstream/route-list.ts'
import {
  goneUnasked,
  heldInARow,
  type ModelEffect,
  type ModelRun,
  matchReview,
  releases,
  suspicionsOf,
} from './sync-model-guard.ts'
import { attributesOf, type ModelChange, ModelHistory } from './sync-model-history.ts'
import type { ModelList, ModelOutcome } from './sync-model-script.ts'

interface Absence {
  count: number
  readonly lastSeen: number
  readonly firstMissed: number
}

const NOTHING = { added: 0, removed: 0, returned: 0, placesChanged: 0, gained: 0, lost: 0 }

/** How a list counts: how many absences confirm, and for how many lists that agree it stands. */
interface Weight {
  readonly confirmations: number
  readonly lists: number
}

/** What must come of a sequence of lists, by the words of the architecture: sets and maps, a list after the other. */
export class SyncModel {
  readonly history = new ModelHistory()
  readonly runs: ModelRun[] = []
  /** What held once each run was accepted: 'A-B' and its availability. */
  readonly moments = new Map<number, Map<string, boolean | null>>()
  readonly #absent: Record<RouteListName, Map<string, Absence>> = {
    routes: new Map(),
    'with-availability': new Map(),
  }
  readonly #accepted = new Map<RouteListName, { readonly run: number; readonly body: string }>()
  /** When the list of each run arrived, and when it was believed, as numbers that go up. */
  readonly #arrivals = new Map<number, number>()
  readonly #beliefs = new Map<number, number>()
  #now = 0
  readonly #limits: GuardLimits
  readonly #confirmations: number

  constructor(limits: GuardLimits, confirmations: number) {
    this.#limits = limits
    this.#confirmations = confirmations
  }

  /** with-availability speaks of routes: before there are any it fails. */
  get hasRoutes(): boolean {
    return this.#accepted.has('routes')
  }

  heldRuns(): number[] {
    return this.runs.filter(({ status }) => status === 'held').map(({ run }) => run)
  }

  /** A run without a list that could be judged. */
  note(run: number, list: RouteListName, status: 'rejected' | 'failed'): void {
    this.runs.push({ run, list, status, body: '', pairs: new Set() })
  }

  /** A whole list arrived: it is applied, or held, or released with those that it agrees with. */
  settle(run: number, list: ModelList): ModelOutcome {
    this.#arrivals.set(run, ++this.#now)
    const effect = this.#effectOf(list)
    const reasons = suspicionsOf(effect, this.#limits)
    const { body, pairs } = list
    const record: ModelRun = { run, list: list.list, body, pairs, status: 'applied' }
    const review = reasons.length === 0 ? undefined : matchReview(this.runs, list)
    const lists = 1 + heldInARow(this.runs, list.list, review)
    const released = review !== undefined && this.#releases(review, { reasons, effect, lists })
    if (reasons.length > 0 && !released) {
      this.runs.push({ ...record, status: 'held', review: review ?? run })
      const pendingAbsences = this.#absent[list.list].size
      return { ...NOTHING, status: 'held', reasons, pendingAbsences, live: effect.live }
    }
    const weight = { confirmations: this.#confirmations, lists: released ? lists : 1 }
    const outcome = this.#apply(run, list, weight)
    if (released) this.#drop('agreed', (other) => other.review === review)
    this.#drop('normal_list', (other) => other.list === list.list)
    this.runs.push({ ...record, status: outcome.status, ...(released ? { review } : {}) })
    return released ? { ...outcome, reasons: ['agreed'] } : outcome
  }

  #releases(
    review: number,
    held: { reasons: readonly string[]; effect: ModelEffect; lists: number },
  ): boolean {
    const rejected = this.runs.some((r) => r.review === review && r.resolution === 'rejected')
    const { reasons, effect, lists } = held
    return !rejected && releases(reasons, effect, { lists, limits: this.#limits })
  }

  /** A person approves a held run: what it lacks goes at once; other held runs of the list are dropped. */
  approve(run: number, list: ModelList): ModelOutcome {
    const outcome = this.#apply(run, list, { confirmations: 1, lists: 1 })
    for (const record of this.runs) if (record.run === run) record.status = 'approved'
    this.#drop('superseded', (other) => other.list === list.list)
    return { ...outcome, status: 'approved' }
  }

  /** A person rejects a held run, and with it all of its review. */
  reject(run: number): void {
    const review = this.runs.find((record) => record.run === run)?.review
    this.#drop('rejected', (other) => other.review === review)
  }

  #drop(resolution: string, which: (run: ModelRun) => boolean): void {
    for (const run of this.runs) {
      if (run.status !== 'held' || !which(run)) continue
      run.status = 'dropped'
      run.resolution = resolution
    }
  }

  #live(list: RouteListName): string[] {
    const live = this.history.live()
    return list === 'routes' ? live : live.filter((pair) => this.history.availableOf(pair))
  }

  #missing({ list, pairs }: ModelList): string[] {
    return this.#live(list).filter((pair) => !pairs.has(pair))
  }

  #effectOf(list: ModelList): ModelEffect {
    const ofRoutes = list.list === 'routes'
    const live = this.history.live()
    const known = new Set(this.history.routes.map(({ of }) => of))
    const missing = this.#missing(list)
    const absences = (pair: string) => this.#absent[list.list].get(pair)?.count ?? 0
    const places = this.history
      .spelled(list.spellings)
      .filter(({ old }) => ofRoutes && old !== null)
    return {
      baseline: !this.#accepted.has(list.list),
      repeated: this.#accepted.get(list.list)?.body === list.body,
      listed: ofRoutes ? list.pairs.size : live.filter((pair) => list.pairs.has(pair)).length,
      live: this.#live(list.list).length,
      newlyAbsent: missing.filter((pair) => absences(pair) === 0).length,
      missing: missing.length,
      addedFresh: ofRoutes ? [...list.pairs].filter((pair) => !known.has(pair)).length : 0,
      removed: ofRoutes
        ? missing.filter((pair) => absences(pair) + 1 >= this.#confirmations).length
        : 0,
      removedLastDay: ofRoutes ? goneUnasked(this.history.routes, this.runs).size : 0,
      knownPlaces: places.length,
      placesChanged: places.filter(({ old, now }) => old !== now).length,
    }
  }

  #apply(run: number, list: ModelList, { confirmations, lists }: Weight): ModelOutcome {
    this.#beliefs.set(run, ++this.#now)
    const previous = this.#accepted.get(list.list)
    const absent = this.#absent[list.list]
    const missing = this.#missing(list)
    const back = [...absent.keys()].filter((pair) => !missing.includes(pair))
    for (const pair of back) absent.delete(pair)
    for (const pair of missing) {
      const known = absent.get(pair)
      if (known !== undefined) known.count += lists
      else absent.set(pair, { count: lists, lastSeen: previous?.run ?? run, firstMissed: run })
    }
    const gone = missing.filter((pair) => (absent.get(pair)?.count ?? 0) >= confirmations)
    const settling = { run, previous: previous?.run, gone }
    const counts =
      list.list === 'routes'
        ? this.#applyRoutes(list, settling)
        : this.#applyAvailability(list, settling)
    for (const pair of gone) absent.delete(pair)
    this.#accepted.set(list.list, { run, body: list.body })
    const live = this.history.live()
    this.moments.set(run, new Map(live.map((pair) => [pair, this.history.availableOf(pair)])))
    const moved = Object.values(counts).some((count) => count > 0)
    return {
      ...counts,
      status: previous?.body === list.body && !moved ? 'unchanged' : 'applied',
      reasons: [],
      returned: back.length,
      pendingAbsences: absent.size,
      live: this.#live(list.list).length,
    }
  }

  #applyRoutes({ pairs, spellings }: ModelList, settling: Settling) {
    const { run, gone } = settling
    const live = this.history.live()
    const added = [...pairs].filter((pair) => !live.includes(pair))
    for (const of of added) {
      this.#tell(settling, { kind: 'route_added', of, before: null, after: { available: null } })
      this.history.addRoute(of, run)
    }
    for (const of of gone) {
      const before = { available: this.history.availableOf(of) }
      this.#tell(settling, { kind: 'route_removed', of, before, after: null }, 'routes')
      this.history.removeRoute(of, run)
      this.#absent['with-availability'].delete(of)
    }
    const others = this.history.spelled(spellings).filter(({ old, now }) => old !== now)
    for (const { id: of, old, now } of others) {
      if (old !== null) {
        const [before, after] = [attributesOf(old), attributesOf(now)]
        this.#tell(settling, { kind: 'place_changed', of, before, after })
      }
      this.history.spell(of, now, run)
    }
    const placesChanged = others.filter(({ old }) => old !== null).length
    return { added: added.length, removed: gone.length, placesChanged, gained: 0, lost: 0 }
  }

  #applyAvailability({ list, pairs }: ModelList, settling: Settling) {
    const { run, gone } = settling
    const [yes, no] = [{ available: true }, { available: false }]
    const unknown = this.history.live().filter((pair) => this.history.availableOf(pair) === null)
    const gained = this.history
      .live()
      .filter((pair) => pairs.has(pair) && this.history.availableOf(pair) !== true)
    for (const of of gained) {
      const before = { available: this.history.availableOf(of) }
      this.#tell(settling, { kind: 'route_gained_availability', of, before, after: yes })
      this.history.turn(of, true, run)
    }
    for (const of of gone) {
      const change = { kind: 'route_lost_availability', of, before: yes, after: no }
      this.#tell(settling, change, list)
      this.history.turn(of, false, run)
    }
    // It has not lost what it was never known to have; of what began after it came it says nothing.
    const arrival = this.#arrivals.get(run) ?? 0
    const began = (of: string) =>
      this.history.routes.find((route) => route.of === of && route.to === null)?.from ?? 0
    const spokenOf = unknown.filter((of) => (this.#beliefs.get(began(of)) ?? 0) <= arrival)
    for (const of of spokenOf) if (!pairs.has(of)) this.history.turn(of, false, run)
    return { added: 0, removed: 0, placesChanged: 0, gained: gained.length, lost: gone.length }
  }

  /** The baseline makes no changes. What is absent from a list went when it was first missed. */
  #tell(
    { run, previous }: Settling,
    change: Pick<ModelChange, 'kind' | 'of' | 'before' | 'after'>,
    absentFrom?: RouteListName,
  ): void {
    if (previous === undefined) return
    const absence = absentFrom && this.#absent[absentFrom].get(change.of)
    const { lastSeen, firstMissed } = absence ?? { lastSeen: previous, firstMissed: run }
    this.history.changes.push({ ...change, lastSeen, firstMissed, run })
  }
}

interface Settling {
  readonly run: number
  /** The accepted run of the list before; the baseline has none. */
  readonly previous: number | undefined
  readonly gone: readonly string[]
}
