import { expect, it } from 'vitest'
import { addCounts } from '../../src/upstream/lists/read-route-list.ts'
import { NO_COUNTS, type Route } from '../../src/upstream/route-list.ts'
import { UpstreamTooLargeError } from '../../src/upstream/upstream-errors.ts'
import { elementWith, place, ROUTES, readAll, route } from './routes-fixture.ts'

async function countsOf(body: string) {
  const { slices } = await readAll(body)
  return slices.map((slice) => slice.counts).reduce(addCounts, NO_COUNTS)
}

async function departureOf(departure: unknown) {
  const { routes } = await readAll(`[${elementWith(departure)}]`)
  return routes[0]?.departure
}

it('a list is read in slices with their positions', async () => {
  const body = JSON.stringify(ROUTES)

  const { slices } = await readAll(body, { sliceBytes: 200 })

  expect(slices.map(({ first, routes }) => [first, routes.length])).toEqual([
    [0, 2],
    [2, 1],
  ])
  expect(slices.at(-1)?.bytesRead).toBe(body.length)
})

it('a repeated place becomes one object', async () => {
  const { routes } = await readAll(JSON.stringify(ROUTES))

  expect(routes[1]?.departure).toBe(routes[0]?.destination)
})

it.each([
  ['"7"', '7'],
  ['7', '7'],
  ['0', '0'],
  ['7.0', '7'],
  ['9007199254740991', '9007199254740991'],
  ['9007199254740993', '9007199254740993'],
  ['123456789012345678901234567890', '123456789012345678901234567890'],
  ['"123456789012345678901234567890"', '123456789012345678901234567890'],
  ['"PMI-1 é"', 'PMI-1 é'],
])('the id %s is read as the text %s', async (sent, id) => {
  const element = elementWith({ ...place('ID') }).replace('"ID"', sent)

  const { routes } = await readAll(`[${elementWith(place('8'))},${element}]`)

  expect(routes[1]?.departure.id).toBe(id)
})

it('a byte order mark at the beginning of a slice is rejected', async () => {
  const element = elementWith(place('1'))

  const reading = readAll(`[${element},\ufeff${element}]`, { sliceBytes: 50 })

  await expect(reading).rejects.toThrow('are not JSON')
})

it('an error names the elements and bytes at fault', async () => {
  const element = elementWith(place('1'))
  const from = element.length + 2

  const reading = readAll(`[${element},{x},${element}]`, { sliceBytes: element.length })

  const bytes = `bytes ${from} to ${from + element.length + 4}`
  await expect(reading).rejects.toThrow(`elements 1 to 2 (${bytes}) are not JSON`)
})

it('an error does not quote the body', async () => {
  const secret = 'something of theirs'

  for (const body of [`["${secret}`, `[${secret}]`, `[{"departure":"${secret}"}]`, `[]${secret}`]) {
    await expect(readAll(body)).rejects.not.toThrow(secret)
  }
})

it.each([undefined, null, 7, true, {}])(
  'the attribute %j is read as empty and counted',
  async (city) => {
    const sent = { ...place('1'), city }

    expect(await departureOf(sent)).toEqual(place('1', { city: '' }))
    expect(await countsOf(`[${elementWith(sent)}]`)).toEqual({ ...NO_COUNTS, blank_texts: 1 })
  },
)

it.each([
  ['a\0b', 'ab'],
  ['a\ud800', 'a\ufffd'],
  ['a'.repeat(300), `${'a'.repeat(199)}…`],
])('the attribute %j is cleaned and counted', async (city, clean) => {
  const body = `[${elementWith({ ...place('1'), city })}]`

  expect((await readAll(body)).routes[0]?.departure.city).toBe(clean)
  expect(await countsOf(body)).toEqual({ ...NO_COUNTS, cleaned_texts: 1 })
})

it('the attributes of a place are one spelling, without white space around them, and its id stays', async () => {
  const plain = place('A\u030a ', { iata: 'PMI', city: 'M\u00e1laga', country: 'Espa\u00f1a' })
  const loose = {
    ...plain,
    iata: 'PMI ',
    city: 'Ma\u0301laga\t',
    country: '\u00a0Espan\u0303a\ufeff',
  }

  const { routes } = await readAll(`[${[plain, loose].map(elementWith).join()}]`)

  expect(routes[0]?.departure).toEqual(plain)
  expect(routes[1]?.departure).toBe(routes[0]?.departure)
})

it('unknown fields are dropped and counted', async () => {
  const sent = `[{"x":1,"__proto__":{},"departure":{"id":1,"lat":2,"constructor":3},"destination":{"id":2}}]`

  const { routes } = await readAll(sent)

  const bare = (id: string) => place(id, { iata: '', city: '', country: '' })
  expect(routes).toEqual([{ departure: bare('1'), destination: bare('2') }] satisfies Route[])
  expect(await countsOf(sent)).toMatchObject({ unknown_fields: 4, numeric_ids: 2, blank_texts: 6 })
})

it('a list over the cap of elements is rejected', async () => {
  const reading = readAll(JSON.stringify(ROUTES), { maxElements: 2 })

  await expect(reading).rejects.toThrow('the list is over 2 elements')
  await expect(reading).rejects.toBeInstanceOf(UpstreamTooLargeError)
})

it('the reader yields to the event loop between slices', async () => {
  const body = JSON.stringify(Array.from({ length: 100 }, (_, at) => route(String(at), 'x')))
  let iterations = 0
  const count = () => {
    iterations += 1
    timer = setImmediate(count)
  }
  let timer = setImmediate(count)

  const { slices } = await readAll(body, { sliceBytes: 500 })

  clearImmediate(timer)
  expect(iterations).toBeGreaterThanOrEqual(slices.length)
})
