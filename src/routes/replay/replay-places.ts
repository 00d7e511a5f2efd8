import { sql, type Tx } from '../../platform/db/database.ts'

/** What the rules of places need to know of a run. */
export interface PlaceRun {
  readonly position: number
  readonly validAt: Date
  /** Lists that must give a place the same new attributes, and for how many lists this one counts. */
  readonly placeConfirmations: number
  readonly lists: number
  readonly comparedHash: string | null
}

export interface Step<Run extends PlaceRun = PlaceRun> {
  readonly run: Run
  /** The last run whose list was read. */
  readonly last: Run | undefined
  /** Whether no run lies between the two. */
  readonly follows: boolean
}

/**
 * A place keeps its attributes while a list gives them, else takes the smallest ones that enough lists in a row give. A new
 * place takes the smallest ones at once. After runs whose lists are unknown the attributes of a known place are unknown
 * until a list gives the stored ones.
 */
export async function recordPlaces(tx: Tx, { run, last, follows }: Step): Promise<void> {
  const { position, validAt, lists, comparedHash } = run
  if (!follows) await forgetPlaces(tx, (last?.position ?? 0) + 1)
  await sql`
    create temp table given_place on commit drop as
    select distinct on (s.place_id) s.*, p.place_id is not null as known,
           p.place_id is not null and (p.iata, p.city, p.country) <> (s.iata, s.city, s.country) as changed
      from staged_place s
      left join farewatch_replay.place p on p.place_id = s.place_id and p.until is null
     order by s.place_id, changed, s.iata collate "C", s.city collate "C", s.country collate "C"
  `.execute(tx)
  const isKept = (s: string) =>
    sql`(v.place_id, v.iata, v.city, v.country) = (${sql.ref(`${s}.place_id`)}, ${sql.ref(`${s}.iata`)},
                                                   ${sql.ref(`${s}.city`)}, ${sql.ref(`${s}.country`)})`
  const isUnsure = sql`
    (v.valid_from < ${validAt}
     and exists (select from farewatch_replay.run
                  where list = 'routes' and position < ${position} and not known
                     or list = 'routes' and position = 1 and not baseline))`
  await sql`
    insert into farewatch_replay.place (place_id, iata, city, country, first)
    select g.place_id, coalesce(s.iata, g.iata), coalesce(s.city, g.city), coalesce(s.country, g.country), ${position}::integer
      from given_place g
      left join place_version v
             on v.place_id = g.place_id and v.valid_from <= ${validAt} and (v.valid_to is null or v.valid_to > ${validAt})
            and ${isUnsure}
      left join staged_place s on ${isKept('s')}
     where not g.known and (v.place_id is null or s.place_id is not null)
  `.execute(tx)
  await sql`
    delete from farewatch_replay.new_attributes v
     where not exists (select from given_place g where g.changed and ${isKept('g')})
  `.execute(tx)
  const counted =
    comparedHash === null
      ? sql`${lists}::integer`
      : sql`case when exists (select from compared_place v where ${isKept('g')}) then ${lists}::integer else 1 end`
  await sql`
    insert into farewatch_replay.new_attributes as v (place_id, iata, city, country, lists)
    select g.place_id, g.iata, g.city, g.country, ${counted} from given_place g where g.changed
        on conflict (place_id) do update set lists = v.lists + excluded.lists
  `.execute(tx)
  await confirmPlaces(tx, run)
}

/** The list of the last run again gives the same new attributes. */
export async function repeatPlaces(tx: Tx, run: PlaceRun): Promise<void> {
  await sql`update farewatch_replay.new_attributes set lists = lists + ${run.lists}`.execute(tx)
  await confirmPlaces(tx, run)
}

async function confirmPlaces(tx: Tx, { position, placeConfirmations }: PlaceRun): Promise<void> {
  await sql`
    update farewatch_replay.place p
       set until = ${position}
      from farewatch_replay.new_attributes n
     where n.lists >= ${placeConfirmations} and p.place_id = n.place_id and p.until is null
  `.execute(tx)
  await sql`
    with confirmed as (
           delete from farewatch_replay.new_attributes where lists >= ${placeConfirmations} returning *)
    insert into farewatch_replay.place (place_id, iata, city, country, first)
    select place_id, iata, city, country, ${position}::integer from confirmed
  `.execute(tx)
}

async function forgetPlaces(tx: Tx, until: number): Promise<void> {
  await sql`update farewatch_replay.place set until = ${until} where until is null`.execute(tx)
  await sql`delete from farewatch_replay.new_attributes`.execute(tx)
}
