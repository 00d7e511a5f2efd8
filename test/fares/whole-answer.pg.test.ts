import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { buffer as bufferOf } from 'node:stream/consumers'
import { parse } from 'csv-parse/sync'
import { describe, expect, onTestFinished } from 'vitest'
import { fareStateAt } from '../../sandbox/world/fare-life.ts'
import { dayOf, type Flight, findFlight, flightIdOf } from '../../sandbox/world/flight-schedule.ts'
import { viewFlight } from '../../sandbox/world/flight-view.ts'
import type * as wire from '../../sandbox/world/wire.ts'
import { createWorld } from '../../sandbox/world/world.ts'
import { CHATS, createChatFormat } from '../../src/delivery/formats/chats.ts'
import { createEmailFormat } from '../../src/delivery/formats/email.ts'
import type { Mailer } from '../../src/delivery/formats/mailer.ts'
import { createTemplateFormat } from '../../src/delivery/formats/template.ts'
import { createWebhookFormat } from '../../src/delivery/formats/webhook.ts'
import { readAvailabilityChanges } from '../../src/feeds/operator-feed-queries.ts'
import { streamTable } from '../../src/history/export-run.ts'
import {
  CHAT_FORMATS,
  type ChatFormat,
  ENDPOINT_FORMATS,
  type EndpointFormat,
  TABLE_FORMATS,
  type TableFormat,
} from '../../src/platform/base/kinds.ts'
import { createScrub } from '../../src/platform/base/secrets.ts'
import { type Database, type Db, sql } from '../../src/platform/db/database.ts'
import { readVerifyAnswer } from '../../src/upstream/fares/read-verify-answer.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { questionWith } from '../../src/upstream/question.ts'
import { addEndpoint, openTarget, startDispatcher } from '../delivery/delivery-fixtures.ts'
import { openDuckDb } from '../history/duckdb-warehouse.ts'
import { termsWith } from '../sandbox/support.ts'
import { ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import { gone, minute, record } from './fare-fixtures.ts'

/** Each type is asked for, of residents or of others. */
const PASSENGERS = {
  residents: { adults: 1, children: 0, infants: 1 },
  nonResidents: { adults: 2, children: 1, infants: 0 },
}

const world = createWorld({ seed: 1 })

/** A check of the last minutes: older prices are not shown any more. */
const checked = (n: number) => minute(24 + n)

/** The first flight of a pair of places on a day, some weeks from now, that can be booked now. */
function bookableFlight(days: number, isWanted: (flight: Flight) => boolean): wire.Flight {
  for (const pair of world.pairs) {
    const flight = findFlight(world, flightIdOf({ pair, day: dayOf(minute(0)) + days, number: 0 }))
    if (flight === undefined || !isWanted(flight)) continue
    const state = fareStateAt(flight, minute(0).getTime())
    if (state.available) return viewFlight(flight, state, termsWith(PASSENGERS))
  }
  throw new Error('the world has no such flight')
}

const OUT = bookableFlight(
  40,
  ({ segments, pair }) => segments.length > 1 && pair.from.country === 'Spain',
)
const BACK = bookableFlight(47, ({ segments, pair: { from, to } }) => {
  return segments.length === 1 && from.country === to.country && from.residentFares
})

/** What farewatch reads of an answer about both, sent as the upstream sends it. */
function readAnswer(out = OUT, back = BACK): [LegObservation, LegObservation] {
  const [flightId, returnFlightId] = [`${OUT.id}`, `${BACK.id}`]
  const sent = {
    [flightId]: { available: true, flight: out },
    [returnFlightId]: { available: true, flight: back },
  }
  const answer = readVerifyAnswer(
    [Buffer.from(JSON.stringify(sent))],
    questionWith({ flightId, returnFlightId, passengers: PASSENGERS }),
    createScrub([]),
  )
  expect(answer.anomalies).toEqual([])
  if (answer.return === null) throw new Error('the answer has no return flight')
  return [answer.outbound, answer.return]
}

async function addFare(db: Db) {
  const resellerId = await resellerWith(db, [
    cells({
      reference: 'A',
      flight_id: `${OUT.id}`,
      return_flight_id: `${BACK.id}`,
      residents_adults: '1',
      residents_infants: '1',
      non_residents_adults: '2',
      non_residents_children: '1',
    }),
  ])
  const { id } = await db.selectFrom('tracked_fare').select('id').executeTakeFirstOrThrow()
  return { resellerId, fareId: id }
}

const text = (price: number | null) => (price === null ? null : price.toFixed(2))

/** The cells of one leg in SQL. */
function cellsOf(leg: 'outbound' | 'return', flight: wire.Flight): Record<string, unknown> {
  const { from, to, airline, legs, dates, site, price } = flight
  const { residents, nonResidents } = price
  const cells = {
    departure_iata: from.iata,
    destination_iata: to.iata,
    airline: airline.name,
    flight_numbers: legs.map(({ number }) => number),
    departs_local: `${dates.departure}:00`,
    site_id: `${site.id}`,
    site_name: site.name,
    site_url: site.url,
    price: price.total,
    currency: price.currency,
    adult_price: text(nonResidents.adult),
    child_price: text(nonResidents.child),
    infant_price: text(nonResidents.infant),
    resident_adult_price: text(residents.adult),
    resident_child_price: text(residents.child),
    resident_infant_price: text(residents.infant),
  }
  return Object.fromEntries(Object.entries(cells).map(([name, cell]) => [`${leg}_${name}`, cell]))
}

const CELLS = { ...cellsOf('outbound', OUT), ...cellsOf('return', BACK) }

async function readCells(db: Db, from: ReturnType<typeof sql>): Promise<unknown> {
  const columns = Object.keys(CELLS).map((name) =>
    name.endsWith('_local') ? sql`${sql.ref(name)}::text` : sql.ref(name),
  )
  const { rows } = await sql`select ${sql.join(columns)} from ${from}`.execute(db)
  return rows
}

/** One leg in a record. The zone of a place is in no answer. */
function legIn({ airline, from, to, dates, legs, site, price }: wire.Flight) {
  const place = ({ id, iata, city, country }: wire.FlightPlace) => {
    return { iata, id: `${id}`, city, country }
  }
  const end = (at: wire.FlightPlace, localTime: string) =>
    expect.objectContaining({ place: place(at), localTime })
  const money = (amount: number | null) =>
    amount === null ? null : { amount: amount.toFixed(2), currency: price.currency }
  const each = ({ adult, child, infant }: wire.PassengerPrices) => {
    return { adult: money(adult), child: money(child), infant: money(infant) }
  }
  return {
    belief: 'available',
    price: { amount: price.total, currency: price.currency },
    passengerPrices: { residents: each(price.residents), nonResidents: each(price.nonResidents) },
    flight: {
      airline: { iata: airline.twoLetterCode, name: airline.name },
      numbers: legs.map(({ number }) => number),
      departure: end(from, dates.departure),
      arrival: end(to, dates.arrival),
      stops: legs.slice(1).map((leg) => place(leg.from)),
      site: { id: `${site.id}`, name: site.name, url: site.url },
    },
  }
}

interface Legs {
  readonly outbound: object
  readonly return: object
}
type Body = Readonly<Record<string, readonly Record<string, unknown>[]>> & Legs

/** Where the API shows both legs: what the page, the command line and the clients read. */
const FACES: readonly (readonly [path: string, legsOf: (body: Body) => unknown])[] = [
  ['/watch-state', ({ watches }) => watches?.[0]?.belief],
  ['/watch-changes', ({ items }) => items?.[0]?.after],
  ['/availability-changes', ({ items }) => items?.[0]?.after],
  ['/fares/FARE', (body) => body],
]

/** What exports have of an answer: the cells of SQL, as far as the table has them. */
const EXPORTED = Object.entries({
  fares_current: /./,
  fare_history: /./,
  availability_changes: /_(iata|airline|departs_local|site_name|site_url)$/,
}).map(([table, columns]) => {
  const cells = Object.entries(CELLS).filter(([name]) => columns.test(name))
  return { table, cells: Object.fromEntries(cells) }
})

/** The rows that an export of a table writes, each value as text. */
async function exported(
  database: Database,
  table: string,
  format: TableFormat,
): Promise<Record<string, string>[]> {
  const stream = new PassThrough()
  const [written] = await Promise.all([
    bufferOf(stream),
    streamTable(database, { tables: [table], format }, stream).finally(() => stream.end()),
  ])
  return (await READERS[format](written)).map(plainText)
}

const READERS: Readonly<Record<TableFormat, (written: Buffer) => Promise<object[]>>> = {
  csv: async (written) => parse(written, { columns: true }),
  jsonl: async (written) =>
    written
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object),
  parquet: async (written) => {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'farewatch-answer-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const file = path.join(folder, 'table.parquet')
    await writeFile(file, written)
    const { rows } = await openDuckDb()
    const names = await rows(`select column_name from (describe from '${file}')`)
    return (await rows(`from '${file}'`)).map((row) =>
      Object.fromEntries(row.map((value, at) => [names[at]?.[0], value])),
    )
  },
}

/** Prices have four decimals in the files, lists are JSON in one format, and nothing is null in the other. */
function plainText(row: object): Record<string, string> {
  const plain = (value: unknown) => {
    const written = typeof value === 'object' ? JSON.stringify(value) : String(value)
    if (/^\d+\.\d+$/.test(written)) return Number(written).toFixed(2)
    return written === 'null' ? '' : written.replace(/^(\d{4}-\d\d-\d\d)T/, '$1 ')
  }
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)]))
}

/** The flight in a message to people. Another year than that in which it is read is shown. */
function flightText({ dates, airline, legs }: wire.Flight): string {
  const [date = '', time = ''] = dates.departure.split(' ')
  const [day = '', month = '', year = ''] = new Date(date).toUTCString().split(' ').slice(1)
  const shown = year === String(new Date().getUTCFullYear()) ? '' : ` ${year}`
  const numbers = legs.map(({ number }) => number).join('/')
  return `${Number(day)} ${month}${shown} ${time}, ${airline.name} ${numbers}`
}

/** The sum of a price of both flights, as an answer has them. */
function sumOf(priceOf: (price: wire.Flight['price']) => unknown): string {
  return (Number(priceOf(OUT.price)) + Number(priceOf(BACK.price))).toFixed(2)
}

/** All that a message to people has of an answer: no price of a child or an infant, and no address of a site. */
function sentences() {
  const fare = `${OUT.from.iata} ⇄ ${OUT.to.iata}, ${flightText(OUT)}, back ${flightText(BACK)}`
  const watch = `${fare}, for 1 resident adult, 1 resident infant, 2 adults, 1 child`
  const price = `${sumOf(({ total }) => total)} ${OUT.price.currency}`
  const adults = [
    `${sumOf(({ nonResidents }) => nonResidents.adult)} an adult`,
    `${sumOf(({ residents }) => residents.adult)} a resident adult`,
  ].join(', ')
  const sites = [...new Set([OUT, BACK].map(({ site }) => site.name))].join(' and ')
  return {
    price,
    seen: `${watch}: watched from now on, can be booked for ${price} at ${sites}, ${adults} [summer / A]`,
    lost: `${watch}: sold out (was ${price}) [summer / A]`,
  }
}

describe('all of an answer', () => {
  it('is on each face of the API, and in the files of an export', async ({ db, database }) => {
    const { resellerId, fareId } = await addFare(db)
    await record(db, fareId, checked(0), ...readAnswer())
    const base = await startApi(db)
    const keys = { operator: await newKeyText(db), reseller: await newKeyText(db, { resellerId }) }

    for (const [path, legsOf] of FACES) {
      const key = path.startsWith('/watch') ? keys.reseller : keys.operator
      const url = `${base}/api/v1${path.replace('FARE', String(fareId))}`
      const { body } = await ask(url, { headers: bearer(key) })
      expect(legsOf(body as unknown as Body), path).toMatchObject({
        outbound: legIn(OUT),
        return: legIn(BACK),
      })
      // The texts to compare by are no part of it.
      expect(JSON.stringify(body), path).not.toMatch(/"identity"|"itinerary"/)
    }
    for (const { table, cells } of EXPORTED) {
      for (const format of TABLE_FORMATS) {
        expect(await exported(database, table, format), `${table} ${format}`).toMatchObject([
          plainText(cells),
        ])
      }
    }
  })

  it('is in the messages of each format: whole for programs, as a sentence for people', async ({
    db,
  }) => {
    const { resellerId, fareId } = await addFare(db)
    const sent = await startFormats(db, resellerId)

    await record(db, fareId, checked(0), ...readAnswer())
    const seen = await sent()
    for (const at of [2, 4]) await record(db, fareId, checked(at), gone, gone)
    const lost = await sent()

    const legs = { outbound: legIn(OUT), return: legIn(BACK) }
    const flights = { outbound: legs.outbound.flight, return: legs.return.flight }
    expect(JSON.parse(seen.webhook ?? '')).toMatchObject({ data: { flights, after: legs } })
    expect(JSON.parse(lost.webhook ?? '')).toMatchObject({ data: { flights, before: legs } })
    const texts = sentences()
    expect(JSON.parse(seen.json ?? '')).toEqual({ is: `${texts.seen}, ${texts.price}` })
    for (const name of [...CHAT_FORMATS, 'email'] as const) {
      // Some chats read a backslash as a mark before a sign.
      expect(seen[name]?.replaceAll('\\', ''), name).toContain(texts.seen)
      expect(lost[name]?.replaceAll('\\', ''), name).toContain(texts.lost)
    }
  })

  it('is in the public SQL, cell by cell, while it is believed and when it is not any more', async ({
    db,
  }) => {
    const { fareId } = await addFare(db)
    await record(db, fareId, checked(0), ...readAnswer())

    expect(await readCells(db, sql`farewatch.fares_current`)).toEqual([CELLS])
    expect(await readCells(db, sql`farewatch.fare_history`)).toEqual([CELLS])
    expect(await readCells(db, sql`farewatch.fares_as_of(${checked(1)})`)).toEqual([CELLS])

    for (const at of [2, 4]) await record(db, fareId, checked(at), gone, readAnswer()[1])

    const ended = sql`farewatch.fare_history where valid_to is not null`
    expect(await readCells(db, ended)).toEqual([CELLS])
    const [now] = (await readCells(db, sql`farewatch.fares_current`)) as Record<string, unknown>[]
    expect(now).toMatchObject({ outbound_price: null, return_adult_price: null })
    expect(now).toMatchObject({ outbound_site_name: OUT.site.name })
  })

  it('is filled in where an older version has not kept it, without a record', async ({ db }) => {
    const { fareId } = await addFare(db)
    await record(db, fareId, checked(0), ...readAnswer())
    await forgetParts(db)
    const [older] = (await readCells(db, sql`farewatch.fares_current`)) as Record<string, unknown>[]
    expect(older).toMatchObject({ outbound_price: OUT.price.total, outbound_adult_price: null })

    await record(db, fareId, checked(1), ...readAnswer())

    expect(await readCells(db, sql`farewatch.fares_current`)).toEqual([CELLS])
    expect(await readCells(db, sql`farewatch.fare_history`)).toEqual([CELLS])
    expect(await readAvailabilityChanges(db, { after: 0, limit: 9 })).toHaveLength(1)
  })
})

const CHAT_URLS: Readonly<Record<ChatFormat, string>> = {
  slack: 'https://hooks.slack.com/services/T0/B0/secret',
  teams: 'https://a.logic.azure.com/workflows/a1',
  discord: 'https://discord.com/api/webhooks/1/a',
  telegram: 'https://api.telegram.org/bot1:A/sendMessage?chat_id=1',
  ntfy: 'https://ntfy.sh/fares',
}

/** An endpoint of each format. Returns what delivers, and what each format then sent. */
async function startFormats(db: Db, resellerId: number) {
  let sent: Partial<Record<EndpointFormat, string>> = {}
  const done = async (name: EndpointFormat, text: string) => {
    sent[name] = text
    return { kind: 'delivered', status: 200, answer: '' } as const
  }
  const transportOf = (name: EndpointFormat) => ({
    close: async () => undefined,
    post: (_: unknown, { body }: { readonly body: string }) => done(name, body),
  })
  const mailer: Mailer = { send: (_, { text }) => done('email', text) }
  const formats = [
    createWebhookFormat({ transport: transportOf('webhook') }),
    createTemplateFormat({ transport: transportOf('json') }),
    createEmailFormat({ mailer, limit: async () => 0 }),
    ...CHAT_FORMATS.map((name) =>
      createChatFormat(CHATS[name], {
        transport: transportOf(name),
        hosts: [new URL(CHAT_URLS[name]).host],
      }),
    ),
  ]
  const template = { is: '{sentence}, {amount} {currency}' }
  for (const format of ENDPOINT_FORMATS) {
    const address = { ...CHAT_URLS, webhook: '', json: '', email: '' }[format]
    await addEndpoint(db, resellerId, { format, address, ...(format === 'json' && { template }) })
  }
  const dispatcher = startDispatcher(db, {
    formats,
    openTarget: (endpoint) => ({ ...openTarget(endpoint), template }),
  })
  let count = 0
  return async () => {
    sent = {}
    await dispatcher.dispatch()
    count += ENDPOINT_FORMATS.length
    await dispatcher.recorded(count)
    return sent
  }
}

/** The state as versions before sites and prices of passengers have stored it. */
async function forgetParts(db: Db): Promise<void> {
  const paths = ['outbound', 'return'].flatMap((leg) => [
    `{belief,${leg},flight,site}`,
    `{belief,${leg},flight,places}`,
    `{belief,${leg},price,residents}`,
    `{belief,${leg},price,nonResidents}`,
  ])
  for (const path of paths) await sql`update fare_state set state = state #- ${path}`.execute(db)
  await sql`
    update fare_flights set outbound_site_id = null, outbound_site_name = null, outbound_site_url = null,
           return_site_id = null, return_site_name = null, return_site_url = null
  `.execute(db)
}
