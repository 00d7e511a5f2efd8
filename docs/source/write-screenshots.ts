/**
 * Takes the screenshots of the page that README and docs show, of a demo that has run for a few minutes. With a directory,
 * also every view at 1400 and 390 pixels, in light and dark colours, with data, while the upstream and a receiver fail,
 * and empty: to look at.
 *
 *   npm run screenshots -- [minutes] [directory]
 */

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Browser, type BrowserContextOptions, chromium } from 'playwright-core'
import { requireSandbox } from '../../src/embedded/running-services.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const IMAGES = path.join(ROOT, 'docs/images')
const MINUTES = Number(process.argv[2] ?? 6)
const DIRECTORY = process.argv[3]
const WIDE = { width: 1400, height: 900 }
/** Of the images in the repository: each version of them stays in its history. */
const SMALL = { width: 1280, height: 800 }
const SHOWN = [
  { view: 'now', colorScheme: 'light' },
  { view: 'map', colorScheme: 'dark' },
  { view: 'watches', colorScheme: 'light' },
] as const
const VIEWS = ['now', 'map', 'changes', 'watches', 'deliveries', 'runs', 'schedule'].map(
  (view) => ({
    view,
    name: view,
  }),
)
/** A reseller without an operator's key sees its own share. */
const OF_RESELLER = { view: 'now', name: 'now-of-reseller' }
const LOOKS = [WIDE, { width: 390, height: 844 }].flatMap((viewport) =>
  (['light', 'dark'] as const).map((colorScheme) => ({ viewport, colorScheme })),
)

interface Service {
  readonly base: string
  readonly home: string
  /** An operator's key, and that of the reseller. */
  readonly keys: { readonly operator: string; readonly reseller: string }
  stop(): Promise<void>
}

/** Starts `up` in a home of its own. */
async function startUp(reseller: string, env: Record<string, string> = {}): Promise<Service> {
  const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-screenshots-'))
  const own = { PATH: process.env.PATH ?? '', FAREWATCH_HOME: home }
  const up = spawn(path.join(ROOT, 'bin/farewatch'), ['up'], {
    env: { ...own, API_PORT: '0', ADMIN_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const base = await addressOf(createInterface({ input: up.stdout }))
  const run = async (...args: string[]): Promise<string> => {
    const done = await promisify(execFile)(path.join(ROOT, 'bin/farewatch'), args, { env: own })
    return done.stdout
  }
  const keyOf = async (...whose: string[]): Promise<string> =>
    JSON.parse(await run('keys', 'create', ...whose, '--json')).key
  if (reseller !== 'demo') await run('resellers', 'create', reseller)
  const keys = {
    operator: await keyOf('--operator'),
    reseller: await keyOf('--reseller', reseller),
  }
  const stop = async () => {
    up.kill('SIGTERM')
    await once(up, 'close')
    await rm(home, { recursive: true, force: true })
  }
  return { base, home, keys, stop }
}

async function addressOf(lines: AsyncIterable<string>): Promise<string> {
  for await (const line of lines) {
    const address = /"link":"([^"]+)"/.exec(line)?.[1]
    if (address !== undefined) return new URL(address).origin
  }
  throw new Error('up did not start')
}

interface Shot extends BrowserContextOptions {
  readonly view: string
  readonly file: string
}

async function take(
  browser: Browser,
  { base, keys }: Pick<Service, 'base'> & { readonly keys: Partial<Service['keys']> },
  { view, file, ...look }: Shot,
): Promise<void> {
  const page = await browser.newPage(look)
  await page.addInitScript({
    content: `sessionStorage.setItem('farewatch.keys', ${JSON.stringify(JSON.stringify(keys))})`,
  })
  await page.goto(`${base}/#/${view}`, { waitUntil: 'domcontentloaded' })
  await page.getByText('live', { exact: true }).first().waitFor()
  await page.getByText('Loading …').first().waitFor({ state: 'detached' })
  // The strips and the map are drawn a moment after their data has arrived.
  await delay(2_000)
  await page.screenshot({ path: file })
  await page.close()
}

async function takeAll(browser: Browser, service: Service, state: string): Promise<void> {
  for (const { view, name } of [...VIEWS, OF_RESELLER]) {
    const { reseller } = service.keys
    const seen = name === OF_RESELLER.name ? { ...service, keys: { reseller } } : service
    for (const { viewport, colorScheme } of LOOKS) {
      const file = path.join(
        DIRECTORY ?? '',
        `${name}-${state}-${viewport.width}-${colorScheme}.png`,
      )
      await take(browser, seen, { view, viewport, colorScheme, file })
    }
  }
}

/** A receiver that refuses connections, a list that lacks half of its routes, and an upstream without good answers. */
async function breakDown({ base, home, keys }: Service): Promise<void> {
  const post = (url: string, body: object, headers: Record<string, string> = {}) =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const authorization = `Bearer ${keys.reseller}`
  const dead = { target: 'http://127.0.0.1:9/hooks', description: 'booking engine' }
  const made = await post(`${base}/api/v1/webhook-endpoints`, dead, { authorization })
  const { id } = (await made.json()) as { id: string }
  const test = `${base}/api/v1/webhook-endpoints/${id}/test`
  await fetch(test, { method: 'POST', headers: { authorization } })
  const faults = `${(await requireSandbox(home)).url}/sandbox/faults`
  await post(faults, { name: 'half-list', endpoint: 'routes', durationSeconds: 1_200 })
  await delay(30_000)
  await post(faults, { name: 'status', endpoint: 'verify', code: 503, durationSeconds: 1_200 })
  await delay(90_000)
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
})
const demo = await startUp('demo', {
  WEBHOOK_ALLOW_HTTP: 'on',
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32',
})
try {
  await delay(MINUTES * 60_000)
  await mkdir(IMAGES, { recursive: true })
  for (const { view, colorScheme } of SHOWN) {
    const file = path.join(IMAGES, `${view}.png`)
    await take(browser, demo, { view, colorScheme, viewport: SMALL, file })
  }
  if (DIRECTORY !== undefined) {
    await takeAll(browser, demo, 'data')
    await breakDown(demo)
    await takeAll(browser, demo, 'failing')
  }
} finally {
  await demo.stop()
}
if (DIRECTORY !== undefined) {
  // Nothing answers at this address: no list arrives.
  const empty = await startUp('northwind', { UPSTREAM_BASE_URL: 'http://127.0.0.1:9' })
  try {
    await takeAll(browser, empty, 'empty')
  } finally {
    await empty.stop()
  }
}
await browser.close()
