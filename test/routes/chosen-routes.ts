import type { Random } from '../../bench/schedule/random.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { type ChosenRoutes, changeReseller, createReseller } from '../../src/resellers/resellers.ts'
import type { Place } from '../../src/upstream/route-list.ts'
import type { DailyLists, Interval } from './daily-lists.ts'

/** Adds resellers that choose routes at random, among those of the first list. Returns what each chose, by its id. */
export async function addChoosers(
  db: Db,
  count: number,
  { lists, placeOf }: DailyLists,
  random: Random,
): Promise<Map<number, ChosenRoutes>> {
  const [first] = lists()
  const ends = [...(first?.pairs ?? [])].map((pair) => pair.split('-').map(placeOf))
  const coded = ends.filter((pair) => pair.every(({ iata }) => iata !== ''))
  const anyPair = () => coded[Math.floor(random.uniform() * coded.length)] ?? []
  const some = <T>(most: number, one: () => T) =>
    Array.from({ length: 1 + Math.floor(random.uniform() * most) }, one)
  const choosers = new Map<number, ChosenRoutes>()
  for (let i = 0; i < count; i += 1) {
    const chosen = {
      ...(i % 4 === 0 && { countries: some(3, () => anyPair()[0]?.country ?? '') }),
      ...(i % 2 === 0 && { places: some(5, () => anyPair()[1]?.iata ?? '') }),
      ...(i % 3 !== 0 && {
        pairs: some(30, () => {
          const [departure, destination] = anyPair()
          return {
            departure: departure?.iata ?? '',
            destination: destination?.iata ?? '',
            eitherDirection: random.uniform() < 0.5,
          }
        }),
      }),
      ...(i % 12 === 3 && { places: some(20, () => anyPair()[0]?.iata ?? '') }),
    }
    const routes = Object.keys(chosen).length === 0 ? { places: ['PMI'] } : chosen
    const { id } = await createReseller(db, `R${i}`)
    await changeReseller(db, `R${i}`, { routes })
    choosers.set(id, routes)
  }
  return choosers
}

/** A change of a pair of codes, as '2026-01-31 route_added PMI-MAD since 2026-01-31', and its ends. */
interface Expected {
  readonly text: string
  readonly departure: Place
  readonly destination: Place
}

/** What the histories of routes by ids mean for pairs of codes: they come where none was before, and go where none is left. */
export function changesOfCodes(
  history: ReadonlyMap<string, readonly Interval[]>,
  { firstDay, placeOf }: { readonly firstDay: string } & Pick<DailyLists, 'placeOf'>,
): Expected[] {
  const codeOf = ({ iata, id }: Place) => iata || id
  const byCodes = Map.groupBy(history, ([pair]) =>
    pair
      .split('-')
      .map((id) => codeOf(placeOf(id)))
      .join('-'),
  )
  return [...byCodes].flatMap(([codes, own]) => {
    const intervals = own.flatMap(([, some]) => some)
    const since = intervals.map(({ from }) => from).toSorted()[0]
    const [departure, destination] = (own[0]?.[0] ?? '').split('-').map(placeOf)
    if (departure === undefined || destination === undefined) return []
    const isHeldBefore = (day: string) =>
      intervals.some(({ from, to }) => from < day && (to === null || to >= day))
    const isHeldFrom = (day: string) =>
      intervals.some(({ from, to }) => from <= day && (to === null || to > day))
    const comes = [...new Set(intervals.map(({ from }) => from))].filter(
      (day) => day > firstDay && !isHeldBefore(day),
    )
    const goes = [...new Set(intervals.flatMap(({ to }) => to ?? []))].filter(
      (day) => !isHeldFrom(day),
    )
    const textOf = (kind: string) => (day: string) => `${day} ${kind} ${codes} since ${since}`
    return [...comes.map(textOf('route_added')), ...goes.map(textOf('route_removed'))].map(
      (text) => ({ text, departure, destination }),
    )
  })
}

/** The changes that a reseller chose, sorted. */
export function chosenOf(
  changes: readonly Expected[],
  { countries = [], places = [], pairs = [] }: ChosenRoutes,
): string[] {
  const isChosen = ({ departure, destination }: Expected) =>
    [departure, destination].some(
      ({ iata, country }) => countries.includes(country) || places.includes(iata),
    ) ||
    pairs.some(
      (pair) =>
        (pair.departure === departure.iata && pair.destination === destination.iata) ||
        (pair.eitherDirection === true &&
          pair.departure === destination.iata &&
          pair.destination === departure.iata),
    )
  return changes
    .filter(isChosen)
    .map(({ text }) => text)
    .toSorted()
}

/** The records of each reseller, as `chosenOf` has them. */
export async function readChosen(db: Db): Promise<Map<number, string[]>> {
  const { rows } = await sql<{ id: number; texts: string[] }>`
    select w.reseller_id as id,
           array_agg(to_char(r.fetched_at at time zone 'UTC', 'YYYY-MM-DD') || ' ' || c.kind || ' '
                     || coalesce(nullif(c.route #>> '{departure,iata}', ''), c.route #>> '{departure,id}') || '-'
                     || coalesce(nullif(c.route #>> '{destination,iata}', ''), c.route #>> '{destination,id}')
                     || ' since ' || to_char(c.first_seen_at at time zone 'UTC', 'YYYY-MM-DD')) as texts
      from watch_change w
      join route_change c on c.seq = w.route_seq
      join sync_run r on r.id = c.sync_run_id
     group by w.reseller_id
  `.execute(db)
  return new Map(rows.map(({ id, texts }) => [id, texts.toSorted()]))
}
