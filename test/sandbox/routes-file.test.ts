import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SandboxRoutesFileError } from '../../sandbox/routes-file.ts'
import type { Route } from '../../sandbox/world/wire.ts'
import { startTestSandbox } from './support.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farewatch-routes-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function fileOf(content: string): Promise<string> {
  const path = join(folder, `${crypto.randomUUID()}.json`)
  await writeFile(path, content)
  return path
}

function route(departureId: string, destinationId: string): Route {
  const place = (id: string) => ({ id, iata: '', city: `Köln "${id}", Süd`, country: 'Land' })
  return { departure: place(departureId), destination: place(destinationId) }
}

const ROUTES = Array.from({ length: 500 }, (_, index) => route(`a${index}`, `b${index % 7}`))

describe('a routes file', () => {
  it('replaces the routes of the world, over HTTP too', async () => {
    const path = await fileOf(JSON.stringify(ROUTES))
    const sandbox = await startTestSandbox({ routesFile: path })
    try {
      const routes = await fetch(`${sandbox.url}/api/v1/data/routes`)
      const csv = await fetch(`${sandbox.url}/api/v1/data/routes/csv`)
      const world = await fetch(`${sandbox.url}/sandbox/world`)

      expect(await routes.json()).toEqual(ROUTES)
      expect((await csv.text()).split('\n')[1]).toBe(
        'a0,,"Köln ""a0"", Süd",Land,b0,,"Köln ""b0"", Süd",Land',
      )
      expect(await world.json()).toMatchObject({ counts: { routes: 500 } })
    } finally {
      await sandbox.close()
    }
  })

  const good = route('1', '2')
  it.each([
    ['is not JSON', '[{"departure"', /is not JSON/],
    ['is empty', '', /is not JSON/],
    ['is no array', '{"routes": []}', /not an array/],
    ['holds a number', JSON.stringify([good, 7]), /element 1 is not a route: it is not an object/],
    ['holds null', '[null]', /element 0 /],
    ['lacks a place', JSON.stringify([{ departure: good.departure }]), /element 0 .* destination/],
    [
      'lacks a field',
      JSON.stringify([good, good, { ...good, departure: { id: '1', iata: 'A', city: 'B' } }]),
      /element 2 is not a route: departure\.country is not a string/,
    ],
    [
      'has an id as a number',
      JSON.stringify([{ ...good, destination: { ...good.destination, id: 2 } }]),
      /destination\.id is not a string/,
    ],
    ['has an empty id', JSON.stringify([route('1', '')]), /destination\.id is empty/],
  ])('that %s stops the start with advice', async (_what, content, reason) => {
    const path = await fileOf(content)

    const start = startTestSandbox({ routesFile: path })

    await expect(start).rejects.toThrow(SandboxRoutesFileError)
    await expect(start).rejects.toMatchObject({
      code: 'sandbox.routes_file',
      path,
      message: expect.stringMatching(reason),
    })
    await expect(start).rejects.toThrow(/--routes needs/)
  })
})
