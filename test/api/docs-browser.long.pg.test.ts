import { spawn, spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished } from 'vitest'
import { API_OPERATIONS } from '../../src/app/api-operations.ts'
import { startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'

/** With REQUIRE_CHROMIUM=1 a missing browser fails the test, because a skipped test proves nothing. */
const hasChromium = spawnSync('chromium', ['--version']).status === 0
const runs = hasChromium || process.env.REQUIRE_CHROMIUM !== undefined
/** Virtual time of the page, which passes as fast as the machine allows. */
const PAGE_MS = 15_000

/** The page after its scripts have run, and the messages of the browser. */
async function open(url: string): Promise<{ dom: string; complaints: string[] }> {
  const profile = await mkdtemp(path.join(os.tmpdir(), 'farewatch-chromium-'))
  onTestFinished(() => rm(profile, { recursive: true, force: true, maxRetries: 5 }))
  const browser = spawn(
    'chromium',
    [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--enable-logging=stderr',
      `--user-data-dir=${profile}`,
      `--virtual-time-budget=${PAGE_MS}`,
      '--dump-dom',
      url,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  onTestFinished(() => void browser.kill('SIGKILL'))
  const [dom, output] = await Promise.all([text(browser.stdout), text(browser.stderr)])
  return { dom, complaints: output.split('\n').filter((line) => line.includes('CONSOLE')) }
}

it.runIf(runs)(
  'a browser shows every operation at /docs and blocks no part of the page',
  async ({ db }) => {
    const base = await startApi(db)

    const { dom, complaints } = await open(`${base}/docs`)

    expect(complaints).toEqual([])
    expect(dom).toContain('<title>farewatch API</title>')
    for (const { id } of API_OPERATIONS)
      expect(dom, id).toMatch(new RegExp(`id="operations-[^"]+-${id}"`))
  },
)
