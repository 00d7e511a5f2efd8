/**
 * Takes the screenshots of the page that README and docs show, of a demo that has run for a few minutes.
 *
 *   npm run screenshots -- [minutes]
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { chromium } from 'playwright-core'

const ROOT = path.resolve(import.meta.dirname, '../..')
const IMAGES = path.join(ROOT, 'docs/images')
const MINUTES = Number(process.argv[2] ?? 6)
const SHOTS = [
  { name: 'now', path: '#/now', colorScheme: 'light' },
  { name: 'map', path: '#/map', colorScheme: 'dark' },
  { name: 'watches', path: '#/watches', colorScheme: 'light' },
] as const

const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-screenshots-'))
const demo = spawn(path.join(ROOT, 'bin/farewatch'), ['up'], {
  env: {
    PATH: process.env.PATH ?? '',
    FAREWATCH_HOME: home,
    OPEN_DEMO: 'on',
    API_PORT: '0',
    ADMIN_PORT: '0',
  },
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  const base = await pageAddress()
  await delay(MINUTES * 60_000)
  await mkdir(IMAGES, { recursive: true })
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  })
  for (const { name, path: view, colorScheme } of SHOTS) {
    const page = await browser.newPage({ colorScheme, viewport: { width: 1280, height: 800 } })
    await page.goto(`${base}${view}`, { waitUntil: 'domcontentloaded' })
    await page.getByText('live', { exact: true }).first().waitFor()
    // The strips and the map are drawn a moment after their data has arrived.
    await delay(2_000)
    await page.screenshot({ path: path.join(IMAGES, `${name}.png`) })
    await page.close()
  }
  await browser.close()
} finally {
  demo.kill('SIGTERM')
  await once(demo, 'close')
  await rm(home, { recursive: true, force: true })
}

async function pageAddress(): Promise<string> {
  for await (const line of createInterface({ input: demo.stdout })) {
    const address = /"page":"([^"]+)"/.exec(line)?.[1]
    if (address !== undefined) return address
  }
  throw new Error('the demo did not start')
}
