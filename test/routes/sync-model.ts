import type { RouteListName } from '../../src/platform/base/kinds.ts'
import type { GuardLimits } from '../../src/routes/guard.ts'
import {
  agreesWith,
  emptiedDepartures,
  type ModelEffect,
  type ModelHeld,
  type ModelRun,
  releases,
  stillRemoved,
  suspicionsOf,
} from './sync-model-guard.ts'
import { attributesOf, type ModelChange, ModelHistory, textOf } from './sync-model-history.ts'
import type { ModelList, ModelOutcome } from './sync-model-script.ts'

interface Absence {
  count: number
  readonly lastSeen: number
  readonly firstMissed: number
}

const NOTHING = { added: 0, removed: 0, returned: 0, placesChanged: 0, gained: 0, lost: 0 }

/** How many absences confirm a removal, and for how many agreeing lists an accepted list counts. */
interface Weight {
  readonly confirmations: number
  readonly lists: number
  /** The held list that agrees, if it has other bytes. */
  readonly compared?: ModelRun | undefined
}

/** The expected state after a sequence of lists, as docs/architecture.md defines it: sets and maps, list by list. */
export class SyncModel {
  readonly history = new ModelHistory()
  readonly runs: ModelRun[] = []
  /** The live routes after each accepted run: 'A-B' and its availability. */
  readonly moments = new Map<number, Map<string, boolean | null>>()
  readonly #absent: Record<RouteListName, Map<string, Absence>> = {
    routes: new Map(),
    'with-availability': new Map(),
  }
  /** Attributes that places have in the last accepted lists, and that are not confirmed. */
  readonly #edits = new Map<string, Absence & { readonly now: string }>()
  readonly #accepted = new Map<RouteListName, { readonly run: number; readonly body: string }>()
  readonly #held = new Map<RouteListName, ModelHeld>()
  /** When the list of each run arrived, and when it was accepted, as increasing numbers. */
  readonly #arrivals = new Map<number, number>()
  readonly #acceptances = new Map<number, number>()
  #now = 0
  readonly #limits: GuardLimits
  readonly #confirmations: number

  constructor(limits: GuardLimits, confirmations: number) {
    this.#limits = limits
    this.#confirmations = confirmations
  }

  /** A with-availability list fails before there are routes. */
  get hasRoutes(): boolean {
    return this.#accepted.has('routes')
  }

  heldRuns(): number[] {
    return this.runs.filter(({ status }) => status === 'held').map(({ run }) => run)
  }

  /** Records a run without a usable list. */
  recordFailure(run: number, list: RouteListName, status: 'rejected' | 'failed'): void {
    this.runs.push({ run, list, status, body: '', pairs: new Set(), spellings: [] })
  }

  /** A whole list arrived: it is applied, held, or released with the lists that it agrees with. */
  applyOrHold(run: number, list: ModelList): ModelOutcome {
    this.#arrivals.set(run, ++this.#now)
    const effect = this.#effectOf(list)
    const reasons = suspicionsOf(effect, this.#limits)
    const { body, pairs, spellings } = list
    const record: ModelRun = { run, list: list.list, body, pairs, spellings, status: 'applied' }
    const held = this.#held.get(list.list)
    const agreed = reasons.length > 0 && held && agreesWith(held, list) ? held : undefined
    const lists = 1 + (agreed?.lists ?? 0)
    const rejected = agreed?.rejected ?? false
    const limits = this.#limits
    if (reasons.length > 0 && !releases(reasons, effect, { lists, rejected, limits })) {
      this.#drop(list.list)
      const { first = record } = agreed ?? {}
      this.#held.set(list.list, { first, lists, rejected })
      this.runs.push({ ...record, status: 'held' })
      const pendingAbsences = this.#absent[list.list].size
      const pendingPlaces = list.list === 'routes' ? this.#edits.size : 0
      const { live } = effect
      return { ...NOTHING, status: 'held', reasons, pendingAbsences, pendingPlaces, live }
    }
    const compared = agreed?.first.body === body ? undefined : agreed?.first
    const weight = { confirmations: this.#confirmations, lists, compared }
    const outcome = this.#apply(run, list, weight)
    this.#drop(list.list)
    if (agreed || !held?.rejected) this.#held.delete(list.list)
    this.runs.push({ ...record, status: outcome.status, agreed: agreed !== undefined })
    return agreed ? { ...outcome, reasons: ['agreed'] } : outcome
  }

  /** An operator approves a held run: missing routes are removed at once. */
  approve(run: number, list: ModelList): ModelOutcome {
    const outcome = this.#apply(run, list, { confirmations: 1, lists: 1 })
    for (const record of this.runs) if (record.run === run) record.status = 'approved'
    this.#held.delete(list.list)
    return { ...outcome, status: 'approved' }
  }

  /** An operator rejects a held run. A normal list does not end what was rejected. */
  reject({ list }: Pick<ModelList, 'list'>): void {
    this.#drop(list)
    const held = this.#held.get(list)
    if (held !== undefined) held.rejected = true
  }

  /** There is one held run of a list at most. */
  #drop(list: RouteListName): void {
    for (const run of this.runs) {
      if (run.status === 'held' && run.list === list) run.status = 'dropped'
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
      .attributesIn(list.spellings)
      .filter(({ old }) => ofRoutes && old !== null)
    return {
      baseline: !this.#accepted.has(list.list),
      repeated: this.#accepted.get(list.list)?.body === list.body,
      listed: ofRoutes ? list.pairs.size : live.filter((pair) => list.pairs.has(pair)).length,
      live: this.#live(list.list).length,
      newlyAbsent: missing.filter((pair) => absences(pair) === 0).length,
      missing: missing.length,
      addedFresh: ofRoutes ? [...list.pairs].filter((pair) => !known.has(pair)).length : 0,
      removed: missing.filter((pair) => absences(pair) + 1 >= this.#confirmations).length,
      emptied: emptiedDepartures(this.#live(list.list), list.pairs),
      removedLastDay: stillRemoved(this.history.changes, this.runs, {
        list: list.list,
        live: this.#live(list.list),
      }).size,
      knownPlaces: places.length,
      newlyEdited: places.filter(
        ({ id, old, now }) => old !== now && this.#edits.get(id)?.now !== now,
      ).length,
    }
  }

  #apply(run: number, list: ModelList, weight: Weight): ModelOutcome {
    const { confirmations, lists } = weight
    this.#acceptances.set(run, ++this.#now)
    const previous = this.#accepted.get(list.list)
    const absent = this.#absent[list.list]
    const missing = this.#missing(list)
    const returned = [...absent.keys()].filter((pair) => !missing.includes(pair))
    for (const pair of returned) absent.delete(pair)
    for (const pair of missing) {
      const known = absent.get(pair)
      if (known !== undefined) known.count += lists
      else absent.set(pair, { count: lists, lastSeen: previous?.run ?? run, firstMissed: run })
    }
    const confirmed = missing.filter((pair) => (absent.get(pair)?.count ?? 0) >= confirmations)
    const applying = { run, previous: previous?.run, confirmed, ...weight }
    const counts =
      list.list === 'routes'
        ? this.#applyRoutes(list, applying)
        : this.#applyAvailability(list, applying)
    for (const pair of confirmed) absent.delete(pair)
    this.#accepted.set(list.list, { run, body: list.body })
    const live = this.history.live()
    this.moments.set(run, new Map(live.map((pair) => [pair, this.history.availableOf(pair)])))
    const changed = Object.values(counts).some((count) => count > 0)
    return {
      ...counts,
      status: previous?.body === list.body && !changed ? 'unchanged' : 'applied',
      reasons: [],
      returned: returned.length,
      pendingAbsences: absent.size,
      pendingPlaces: list.list === 'routes' ? this.#edits.size : 0,
      live: this.#live(list.list).length,
    }
  }

  #applyRoutes({ pairs, spellings }: ModelList, applying: Applying) {
    const { run, confirmed } = applying
    const live = this.history.live()
    const added = [...pairs].filter((pair) => !live.includes(pair))
    for (const of of added) {
      this.#recordChange(applying, {
        kind: 'route_added',
        of,
        before: null,
        after: { available: null },
      })
      this.history.addRoute(of, run)
    }
    for (const of of confirmed) {
      const before = { available: this.history.availableOf(of) }
      this.#recordChange(
        applying,
        { kind: 'route_removed', of, before, after: null },
        this.#absent.routes,
      )
      this.history.removeRoute(of, run)
      this.#absent['with-availability'].delete(of)
    }
    const placesChanged = this.#applyPlaces(spellings, applying)
    return { added: added.length, removed: confirmed.length, placesChanged, gained: 0, lost: 0 }
  }

  /** A new place has its attributes at once. Those of a known one change like a route is removed. */
  #applyPlaces(spellings: ModelList['spellings'], applying: Applying): number {
    const { run, previous, lists, confirmations, compared } = applying
    const agrees = (id: string, now: string) =>
      compared === undefined ||
      compared.spellings.some((other) => other.id === id && textOf(other) === now)
    const given = this.history.attributesIn(spellings)
    for (const { id, old, now } of given) if (old === null) this.history.setAttributes(id, now, run)
    const edited = given.filter(({ old, now }) => old !== null && old !== now)
    for (const [id, { now }] of this.#edits) {
      if (!edited.some((edit) => edit.id === id && edit.now === now)) this.#edits.delete(id)
    }
    for (const { id, now } of edited) {
      const known = this.#edits.get(id)
      const first = { count: 0, lastSeen: previous ?? run, firstMissed: run, now }
      const count = (known?.count ?? 0) + (agrees(id, now) ? lists : 1)
      this.#edits.set(id, { ...(known ?? first), count })
    }
    const confirmed = edited.filter(({ id }) => (this.#edits.get(id)?.count ?? 0) >= confirmations)
    for (const { id: of, old, now } of confirmed) {
      const [before, after] = [attributesOf(old ?? ''), attributesOf(now)]
      this.#recordChange(applying, { kind: 'place_changed', of, before, after }, this.#edits)
      this.history.setAttributes(of, now, run)
      this.#edits.delete(of)
    }
    return confirmed.length
  }

  #applyAvailability({ list, pairs }: ModelList, applying: Applying) {
    const { run, confirmed } = applying
    const [yes, no] = [{ available: true }, { available: false }]
    const unknown = this.history.live().filter((pair) => this.history.availableOf(pair) === null)
    const gained = this.history
      .live()
      .filter((pair) => pairs.has(pair) && this.history.availableOf(pair) !== true)
    for (const of of gained) {
      const before = { available: this.history.availableOf(of) }
      this.#recordChange(applying, { kind: 'route_gained_availability', of, before, after: yes })
      this.history.setAvailable(of, true, run)
    }
    for (const of of confirmed) {
      const change = { kind: 'route_lost_availability', of, before: yes, after: no }
      this.#recordChange(applying, change, this.#absent[list])
      this.history.setAvailable(of, false, run)
    }
    // Unknown becomes unavailable without a change; a list says nothing about routes that were added after it arrived.
    const arrival = this.#arrivals.get(run) ?? 0
    const began = (of: string) =>
      this.history.routes.find((route) => route.of === of && route.to === null)?.from ?? 0
    const covered = unknown.filter((of) => (this.#acceptances.get(began(of)) ?? 0) <= arrival)
    for (const of of covered) if (!pairs.has(of)) this.history.setAvailable(of, false, run)
    return { added: 0, removed: 0, placesChanged: 0, gained: gained.length, lost: confirmed.length }
  }

  /** The baseline records no changes. A removal happened between the lists that last had the route and first lacked it. */
  #recordChange(
    { run, previous }: Applying,
    change: Pick<ModelChange, 'kind' | 'of' | 'before' | 'after'>,
    pending?: ReadonlyMap<string, Absence>,
  ): void {
    if (previous === undefined) return
    const { lastSeen, firstMissed } = pending?.get(change.of) ?? {
      lastSeen: previous,
      firstMissed: run,
    }
    this.history.changes.push({ ...change, lastSeen, firstMissed, run })
  }
}

interface Applying extends Weight {
  readonly run: number
  /** The accepted run before; undefined for the baseline. */
  readonly previous: number | undefined
  readonly confirmed: readonly string[]
}
