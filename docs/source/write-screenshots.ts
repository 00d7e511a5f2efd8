/**
 * Takes the screenshots of the page that README and docs show, of a demo that has run for a few minutes. With a directory,
 * also every view in light and dark colours and on a narrow screen, to look at.
 *
 *   npm run screenshots -- [minutes] [directory]
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
const WIDE = { width: 1280, height: 800 }
const NARROW = { width: 390, height: 844 }
const SHOWN = [
  { view: 'now', colorScheme: 'light' },
  { view: 'map', colorScheme: 'dark' },
  { view: 'watches', colorScheme: 'light' },
] as const
const VIEWS = ['now', 'map', 'changes', 'watches', 'runs', 'schedule']

interface Shot {
  readonly view: string
  readonly colorScheme: 'light' | 'dark'
  readonly file: string
  readonly viewport: { readonly width: number; readonly height: number }
}

function shotsFor(directory: string | undefined): Shot[] {
  const shown = SHOWN.map(({ view, colorScheme }) => {
    return { view, colorScheme, viewport: WIDE, file: path.join(IMAGES, `${view}.png`) }
  })
  if (directory === undefined) return shown
  const every = VIEWS.flatMap((view) =>
    [
      { name: 'light', colorScheme: 'light', viewport: WIDE } as const,
      { name: 'dark', colorScheme: 'dark', viewport: WIDE } as const,
      { name: 'narrow', colorScheme: 'light', viewport: NARROW } as const,
    ].map(({ name, ...look }) => ({
      ...look,
      view,
      file: path.join(directory, `${view}-${name}.png`),
    })),
  )
  return [...shown, ...every]
}

const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-screenshots-'))
const demo = spawn(path.join(ROOT, 'bin/farewatch'), ['up'], {
  env: {
    PATH: process.env.PATH ?? '',
    FAREWATCH_HOME: home,
    API_PORT: '0',
    ADMIN_PORT: '0',
  },
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  const link = await signInLink()
  await delay(MINUTES * 60_000)
  await mkdir(IMAGES, { recursive: true })
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  })
  const context = await browser.newContext()
  const first = await context.newPage()
  await first.goto(link)
  await first.getByText('live', { exact: true }).first().waitFor()
  const storageState = await context.storageState()
  for (const { view, file, ...look } of shotsFor(process.argv[3])) {
    const page = await browser.newPage({ ...look, storageState })
    await page.goto(`${new URL(link).origin}/#/${view}`, { waitUntil: 'domcontentloaded' })
    await page.getByText('live', { exact: true }).first().waitFor()
    await page.getByText('Loading …').first().waitFor({ state: 'detached' })
    // The strips and the map are drawn a moment after their data has arrived.
    await delay(2_000)
    await page.screenshot({ path: file })
    await page.close()
  }
  await browser.close()
} finally {
  demo.kill('SIGTERM')
  await once(demo, 'close')
  await rm(home, { recursive: true, force: true })
}

async function signInLink(): Promise<string> {
  for await (const line of createInterface({ input: demo.stdout })) {
    const address = /"link":"([^"]+)"/.exec(line)?.[1]
    if (address !== undefined) return address
  }
  throw new Error('the demo did not start')
}
