import { stringify } from 'csv-stringify/sync'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CsvLimits } from '../../src/upstream/lists/csv-rows.ts'
import {
  addCsvCounts,
  type CsvSlice,
  readRoutesCsv,
} from '../../src/upstream/lists/read-routes-csv.ts'
import type { Route } from '../../src/upstream/route-list.ts'
import { UpstreamContractError, UpstreamTooLargeError } from '../../src/upstream/upstream-errors.ts'
import { type Answer, answering } from './answering-server.ts'
import { clientOf } from './client-fixture.ts'
import { chunksOf, ROUTES } from './routes-fixture.ts'
import { aSlot } from './slot-fixture.ts'

const NAMES = ['id', 'iata', 'city', 'country'] as const
const COLUMNS = ['departure', 'destination'].flatMap((end) => NAMES.map((name) => `${end}_${name}`))
const { signal } = new AbortController()

function cellsOf({ departure, destination }: Route): string[] {
  return [departure, destination].flatMap((place) => NAMES.map((name) => place[name]))
}

function csvOf(routes: readonly Route[], delimiter = ',', columns = COLUMNS): string {
  return stringify([columns, ...routes.map(cellsOf)], { delimiter })
}

async function read(body: string | readonly Uint8Array[], limits?: Partial<CsvLimits>) {
  const chunks = typeof body === 'string' ? [Buffer.from(body)] : body
  const slices: CsvSlice[] = []
  for await (const slice of readRoutesCsv({ chunks }, limits)) slices.push(slice)
  const [first] = slices
  const routes = slices.flatMap((slice) => slice.routes ?? [])
  return {
    slices,
    columns: first?.columns,
    delimiter: first?.delimiter,
    rows: slices.reduce((sum, { rows }) => sum + rows, 0),
    routes: first?.routes === null ? null : routes,
    counts: slices.map((slice) => slice.counts).reduce(addCsvCounts),
  }
}

const asCsv =
  (body: string, type = 'text/csv'): Answer =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': type })
    response.end(body)
  }

describe('routes in CSV', () => {
  it.each([',', ';', '\t'])('are read with the delimiter %j', async (delimiter) => {
    const { routes, rows, columns, delimiter: guessed } = await read(csvOf(ROUTES, delimiter))

    expect(routes).toEqual(ROUTES)
    expect({ rows, columns, guessed }).toEqual({ rows: 3, columns: COLUMNS, guessed: delimiter })
  })

  it.each([
    ['snake_case', (end: string, name: string) => `${end}_${name}`],
    ['camelCase', (end: string, name: string) => `${end}${name[0]?.toUpperCase()}${name.slice(1)}`],
    ['dotted', (end: string, name: string) => `${end}.${name}`],
    ['SHOUTED', (end: string, name: string) => `${end}_${name}`.toUpperCase()],
    ['spaced', (end: string, name: string) => ` ${end} ${name} `],
  ])('are recognised by columns in %s', async (_what, spell) => {
    const columns = ['departure', 'destination'].flatMap((end) =>
      NAMES.map((name) => spell(end, name)),
    )

    expect((await read(csvOf(ROUTES, ',', columns))).routes).toEqual(ROUTES)
  })

  it('are read in any order of columns, and those that nobody knows are counted once', async () => {
    const body = 'extra,destination_id,departure_id\nx,2,1\ny,3,2\n'

    const { routes, counts } = await read(body)

    expect(routes?.map((route) => [route.departure.id, route.destination.id])).toEqual([
      ['1', '2'],
      ['2', '3'],
    ])
    expect(counts).toMatchObject({ unknownFields: 1, numericIds: 0, unrecognisedColumns: 0 })
  })

  it.each([
    ['a byte order mark', `\ufeff${csvOf(ROUTES)}`],
    ['line feeds of Windows', csvOf(ROUTES).replaceAll('\n', '\r\n')],
    ['line feeds of old Macs', csvOf(ROUTES).replaceAll('\n', '\r')],
    ['blank lines', `\n\n${csvOf(ROUTES).replaceAll('\n', '\n\n')}`],
    ['no line feed at the end', csvOf(ROUTES).trimEnd()],
    ['quotes around everything', stringify([COLUMNS, ...ROUTES.map(cellsOf)], { quoted: true })],
  ])('are the same with %s', async (_what, body) => {
    expect((await read(body)).routes).toEqual(ROUTES)
  })

  it('keep delimiters, quotes and line feeds inside their fields, and every digit of an id', async () => {
    const city = 'Palma; "de", \nMallorca'
    const departure = { id: '90071992547409931', iata: '', city, country: 'España' }
    const odd = [{ departure, destination: { ...departure, id: '007' } }]

    expect((await read(csvOf(odd))).routes).toEqual(odd)
  })

  it('come in slices that add up', async () => {
    const many = Array.from({ length: 9_000 }, (_, at) => ({
      departure: { id: String(at), iata: '', city: '', country: '' },
      destination: { id: 'x', iata: '', city: '', country: '' },
    }))

    const { slices, routes } = await read(csvOf(many))

    expect(slices.length).toBeGreaterThan(1)
    expect(slices.every((slice) => slice.rows === slice.routes?.length)).toBe(true)
    expect(routes).toEqual(many)
  })

  it('are none where there is only a header', async () => {
    expect(await read(csvOf([]))).toMatchObject({ rows: 0, routes: [], columns: COLUMNS })
  })
})

describe('columns that say nothing of places', () => {
  it.each([
    ['codes alone, which are no identity', 'departure_iata,destination_iata\nPMI,MAD\n'],
    ['other names', 'from,to\n1,2\n'],
    ['an id twice', 'departure_id,departureId,destination_id\n1,1,2\n'],
  ])('leave the rows unread: %s', async (_what, body) => {
    const { routes, rows, counts } = await read(body)

    expect(routes).toBeNull()
    expect(rows).toBe(1)
    expect(counts).toMatchObject({ unrecognisedColumns: 1, raggedRows: 0 })
  })

  it('allow rows of any length, which are counted', async () => {
    expect((await read('a,b\n1\n1,2\n1,2,3\n')).counts.raggedRows).toBe(2)
  })

  it('have their names cleaned and cut', async () => {
    const { columns } = await read(`a\u0000b,${'x'.repeat(500)}\n`)

    expect(columns).toEqual(['ab', `${'x'.repeat(99)}…`])
  })
})

describe('a body that is no CSV of routes', () => {
  const head = 'departure_id,destination_id'
  it.each([
    ['nothing', '', 'there is no header row'],
    ['markup', '\n<html></html>', 'the body begins with markup, not with a header row'],
    ['an object', '{"error":1}', 'the body begins with an object, not with a header row'],
    ['an open quote', `${head}\n1,"SECRET`, 'the list ends inside the quotes of row 0'],
    ['a stray quote', `${head}\n1,2\n1,S"ECRET\n`, 'row 1 is not CSV'],
    ['a short row', `${head}\n1,2\n1\n`, 'row 1 has 1 fields where the header has 2'],
    ['an empty id', `${head}\n1,2\n," "\n`, 'element 1: departure.id is empty'],
    ['a blank id', `${head}\n1,\n`, 'element 0: destination.id is empty'],
  ])('is refused: %s', async (_what, body, where) => {
    const reading = read(body)

    await expect(reading).rejects.toBeInstanceOf(UpstreamContractError)
    await expect(reading).rejects.toMatchObject({ endpoint: 'csv', where })
    await expect(reading).rejects.toThrow(/^(?!.*SECRET)/)
  })

  it('is refused where it is not UTF-8', async () => {
    const reading = read([Buffer.from('departure_id,destination_id\n\xff,2\n', 'latin1')])

    await expect(reading).rejects.toMatchObject({ where: 'the body is not UTF-8' })
  })

  it.each([
    ['rows', { maxRows: 2 }, 'the list is over 2 rows'],
    ['columns', { maxColumns: 7 }, 'the header row is over 7 fields'],
    [
      'characters in a field',
      { maxFieldChars: 3 },
      'a field of the header row is over 3 characters',
    ],
    ['characters in a row', { maxRowChars: 40 }, 'the header row is over 40 characters'],
  ])('is refused with too many %s', async (_what, limits, says) => {
    const reading = read(csvOf(ROUTES), limits)

    await expect(reading).rejects.toBeInstanceOf(UpstreamTooLargeError)
    await expect(reading).rejects.toThrow(says)
  })
})

describe('the client', () => {
  it.each(['text/csv', 'text/csv; charset=utf-8', 'application/csv', 'text/plain;charset=UTF-8'])(
    'takes %s for CSV',
    async (type) => {
      await using server = await answering(asCsv(csvOf(ROUTES), type))
      await using fixture = clientOf(server.url)

      const body = await fixture.client.fetchRoutesCsv({ signal })

      expect((await read(body.chunks)).routes).toEqual(ROUTES)
      expect(fixture.calls).toMatchObject([{ endpoint: 'csv', outcome: 'ok', status: 200 }])
    },
  )

  it('waits for its slot, and asks for CSV at the path of its own', async () => {
    const order: (string | undefined)[] = []
    await using server = await answering((request, response) => {
      order.push(request.headers.accept, request.url?.split('?')[0])
      asCsv(csvOf(ROUTES))(request, response)
    })
    const beforeList = async () => {
      order.push('slot')
      return aSlot()
    }
    await using fixture = clientOf(server.url, { beforeList })

    await fixture.client.fetchRoutesCsv({ signal })

    expect(order[0]).toBe('slot')
    expect(order[1]).toMatch(/^text\/csv/)
    expect(order[2]).toBe('/api/v1/data/routes/csv')
  })

  it.each([
    ['JSON', asCsv('[]', 'application/json'), 'the content type is application/json'],
    ['a page in plain text', asCsv('<html>', 'text/plain'), 'the body begins with markup'],
    ['nothing', asCsv(''), 'the body is empty'],
  ])('refuses %s', async (_what, answer, says) => {
    await using server = await answering(answer)
    await using fixture = clientOf(server.url)

    const call = fixture.client.fetchRoutesCsv({ signal })

    await expect(call).rejects.toBeInstanceOf(UpstreamContractError)
    await expect(call).rejects.toThrow(says)
  })
})

const anyText = fc
  .string({ unit: 'grapheme', maxLength: 20 })
  .filter((text) => !text.includes('\0'))
const anyPlace = fc.record({
  id: anyText.filter((id) => id.trim() !== ''),
  iata: anyText,
  city: anyText,
  country: anyText,
})
const anyRoutes = fc.array(fc.record({ departure: anyPlace, destination: anyPlace }), {
  maxLength: 8,
})
const anyCuts = fc.array(fc.nat(), { maxLength: 6 })
const anySoup = fc
  .array(
    fc.oneof(
      fc.constantFrom(',', ';', '\t', '\n', '\r', '"', '""', ' ', '\ufeff', '\0', '<', '[', '1'),
      fc.constantFrom('departure_id', 'destination_id', 'departure_id,destination_id\n', '1,2\n'),
      fc.string({ unit: 'binary', maxLength: 5 }),
    ),
    { maxLength: 30 },
  )
  .map((tokens) => Buffer.from(tokens.join('')))

it('reads back every list of routes, however it is cut and delimited', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyRoutes,
      anyCuts,
      fc.constantFrom(',', ';', '\t'),
      async (routes, cuts, delimiter) => {
        const bytes = Buffer.from(csvOf(routes, delimiter))

        expect((await read(chunksOf(bytes, cuts))).routes).toEqual(routes)
      },
    ),
    { numRuns: 200 },
  )
})

it('throws nothing but its own two errors', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(anySoup, fc.uint8Array({ maxLength: 100 })),
      anyCuts,
      async (bytes, cuts) => {
        const outcome: unknown = await read(chunksOf(bytes, cuts)).catch((err: unknown) => err)

        const own =
          outcome instanceof UpstreamContractError || outcome instanceof UpstreamTooLargeError
        expect(own || !(outcome instanceof Error)).toBe(true)
      },
    ),
    { numRuns: 1_000 },
  )
})
