/**
 * Measures the page in Chromium on 40,000 routes: how much it loads, when it first paints, how soon a change appears
 * after its commit, and how many frames a second the map draws while it is zoomed and dragged.
 *
 *   npm run bench:page -- [routes]
 */
import { chromium, type Page } from 'playwright-core'
import { migrateApp } from '../src/app/app.ts'
import { airportsByIata } from '../src/platform/airports/airports.ts'
import { sql } from '../src/platform/db/database.ts'
import { selectOne } from '../src/platform/db/transaction.ts'
import { createApiKey } from '../src/resellers/api-keys.ts'
import { available, record } from '../test/fares/fare-fixtures.ts'
import { NO_GUARD, place, sync } from '../test/routes/sync-fixtures.ts'
import { manyCells, resellerWith } from '../test/watches/watch-fixtures.ts'
import { startRole, stop } from './start-role.ts'
import { openBenchApp, openFixture } from './verify-fixture.ts'

const ROUTES = Number(process.argv[2] ?? 40_000)
/** As in the demo. */
const ROUTES_A_PLACE = 10
const MOVES = 120
const CHANGES = 20

function worldRoutes(count: number) {
  const codes = [...airportsByIata().keys()].slice(0, Math.ceil(count / ROUTES_A_PLACE))
  return Array.from({ length: count }, (_, i) => {
    const departure = codes[(i * 7919) % codes.length] ?? ''
    // Another partner in each round over the codes: all pairs differ.
    const round = Math.floor(i / codes.length)
    const destination = codes[(i * 7919 + 31 + round * 97) % codes.length] ?? ''
    return { departure: place(departure), destination: place(destination) }
  }).filter(({ departure, destination }) => departure.id !== destination.id)
}

interface Loaded {
  readonly firstPaintMs: number
  readonly kilobytes: number
  readonly requests: number
}

/** Opens a view in a fresh browser profile, as a newcomer does. */
async function load(page: Page, url: string, shown: string): Promise<Loaded> {
  let bytes = 0
  let requests = 0
  const client = await page.context().newCDPSession(page)
  await client.send('Network.enable')
  client.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength
    requests += 1
  })
  await page.goto(url)
  await page.getByText('live', { exact: true }).first().waitFor()
  await page.locator(shown).first().waitFor()
  await page.evaluate(rest)
  const firstPaintMs = await page.evaluate<number>(
    "performance.getEntriesByName('first-contentful-paint')[0].startTime",
  )
  return { firstPaintMs, kilobytes: bytes / 1000, requests }
}

/** The time in which the last requests end and the map is drawn. */
const rest = 'new Promise((resolve) => setTimeout(resolve, 3000))'

/** How the map is moved in each frame; `event` sends one to the map. */
const MOVEMENTS = {
  zoomed: "event(new WheelEvent('wheel', { ...at, deltaY: frame < MOVES / 2 ? -8 : 8 }))",
  dragged: `
    if (frame === 1) event(new PointerEvent('pointerdown', { ...at, buttons: 1 }))
    event(new PointerEvent('pointermove', { ...at, buttons: 1, clientX: at.clientX + (frame < MOVES / 2 ? -4 : 4) * frame }))`,
} as const

/** Frames a second while the map is moved in every frame. It is zoomed in before it is dragged. */
async function framesOf(page: Page, movement: keyof typeof MOVEMENTS): Promise<number> {
  if (movement === 'dragged') {
    await page.locator('.map').focus()
    for (let i = 0; i < 4; i += 1) await page.keyboard.press('+')
    await page.evaluate(rest)
  }
  return page.evaluate<number>(`new Promise((resolve) => {
    const MOVES = ${MOVES}
    const map = document.querySelector('.map')
    const box = map.getBoundingClientRect()
    const at = { bubbles: true, cancelable: true, clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 }
    const event = (made) => map.dispatchEvent(made)
    const began = performance.now()
    let frame = 0
    const step = () => {
      if (frame === MOVES) return resolve((1000 * frame) / (performance.now() - began))
      frame += 1
      ${MOVEMENTS[movement]}
      requestAnimationFrame(step)
    }
    requestAnimationFrame(step)
  })`)
}

const fixture = await openFixture()
const app = openBenchApp(fixture, { requestsPerSecond: 1 })
await migrateApp(app)
const { db } = app.database
const routes = worldRoutes(ROUTES)
await sync(db, routes, { guard: NO_GUARD })
await resellerWith(db, manyCells(1))
const { id: fareId } = await selectOne(sql<{ id: number }>`select id from tracked_fare`, db)
const { text: key } = await createApiKey(db, { resellerId: null })
const api = await startRole(fixture, 'api', {})
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
})
const page = await browser.newPage({ viewport: { width: 1400, height: 900 } })
await page.addInitScript({
  content: `sessionStorage.setItem('farewatch.keys', '{"operator":"${key}"}')`,
})

const now = await load(page, `${api.url}/#/now`, '.card')
const map = await load(await pageLike(), `${api.url}/#/map`, '.map')

async function pageLike(): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } })
  const other = await context.newPage()
  await other.addInitScript({
    content: `sessionStorage.setItem('farewatch.keys', '{"operator":"${key}"}')`,
  })
  return other
}

await page.goto(`${api.url}/#/map`)
await page.evaluate(rest)
const label = await page.getByRole('application', { name: /World map/ }).getAttribute('aria-label')
await page.evaluate(`globalThis.longest = 0; new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) longest = Math.max(longest, duration)
}).observe({ type: 'longtask' })`)
const zoomed = await framesOf(page, 'zoomed')
const dragged = await framesOf(page, 'dragged')
await page.evaluate(rest)
const longestMs = await page.evaluate<number>('longest')

await page.goto(`${api.url}/#/changes`)
await page.getByText('Kind').waitFor()
const delays: number[] = []
await record(db, fareId, new Date(), available('100.00'))
await page.locator('.feed li').first().waitFor()
const before = await page.locator('.feed li').count()
for (let i = 1; i <= CHANGES; i += 1) {
  // The transaction begins now and takes some milliseconds: what is measured is at least the delay after its commit.
  const beganAt = performance.now()
  await record(db, fareId, new Date(), available(`${100 + i}.00`))
  await page
    .locator('.feed li')
    .nth(before + i - 1)
    .waitFor()
  delays.push(performance.now() - beganAt)
}
delays.sort((a, b) => a - b)

process.stdout.write(
  [
    `${routes.length} routes: ${label}`,
    `now: first paint ${now.firstPaintMs.toFixed(0)} ms, ${now.kilobytes.toFixed(0)} kB in ${now.requests} requests`,
    `map: first paint ${map.firstPaintMs.toFixed(0)} ms, ${map.kilobytes.toFixed(0)} kB in ${map.requests} requests`,
    `map: ${zoomed.toFixed(0)} frames a second while it is zoomed, ${dragged.toFixed(0)} while it is dragged; no task of it over ${Math.max(50, longestMs).toFixed(0)} ms`,
    `change on the page: median ${delays[CHANGES / 2]?.toFixed(0)} ms after its transaction began, longest ${delays.at(-1)?.toFixed(0)} ms`,
    '',
  ].join('\n'),
)
await browser.close()
await stop(api)
await app.close()
await fixture.close()
