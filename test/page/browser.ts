import { spawnSync } from 'node:child_process'
import axe from 'axe-core'
import { type Browser, chromium, type Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { EXAMPLE_ENDPOINT } from '../../src/delivery/endpoints/endpoint-shapes.ts'

const found = spawnSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).stdout.trim()
/** With REQUIRE_CHROMIUM=1 a missing browser fails the test, because a skipped test proves nothing. */
export const canBrowse = found !== '' || process.env.REQUIRE_CHROMIUM !== undefined
const BUSY_MACHINE_MS = 60_000

/** What an operator and a reseller of `seedApi` can open: each view, and what opens inside it. */
export const OPERATOR_PATHS = ['now', 'map', 'changes', 'runs', 'runs/4', 'schedule', 'schedule/1']
export const RESELLER_PATHS = [
  'now',
  'changes',
  'watches',
  'watches/summer?place=PMI&sort=-price',
  'watches/summer/A-1',
  'deliveries',
  `deliveries/${EXAMPLE_ENDPOINT.endpointId}`,
  'nowhere',
]
/** The pages that need no key. */
export const DOCS_PATHS = ['/docs', '/docs/runbooks']

export interface OpenArgs {
  readonly base: string
  /** The key that the tab has already. */
  readonly key?: string
  readonly path?: string
}

export interface OpenPage {
  readonly page: Page
  /** What the browser complained about: errors of scripts, blocked content, failed requests. */
  readonly complaints: string[]
}

/** Presses a button. */
export async function press(page: Page, name: string, exact = false): Promise<void> {
  await page.getByRole('button', { name, exact }).click()
}

/** Waits until the page shows a text. */
export async function shows(page: Page, text: string | RegExp, exact = false): Promise<void> {
  await page.getByText(text, { exact }).first().waitFor()
}

/** Opens the page in a browser of its own, which closes after the test. */
export async function openPage({ base, key, path = '' }: OpenArgs): Promise<OpenPage> {
  const browser: Browser = await chromium.launch({ executablePath: found, args: ['--no-sandbox'] })
  onTestFinished(() => browser.close())
  const context = await browser.newContext({
    viewport: { width: 1400, height: 900 },
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(BUSY_MACHINE_MS)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  await page.addInitScript({
    content: `
      ${key === undefined ? '' : `sessionStorage.setItem('farewatch.keys', ${JSON.stringify(JSON.stringify({ operator: key }))})`}
      document.addEventListener('securitypolicyviolation', (event) => {
        console.error('blocked: ' + event.violatedDirective + ' ' + event.blockedURI)
      })`,
  })
  await page.goto(`${base}/${path}`)
  return { page, complaints }
}

/** Opens every panel that is closed with its summary. */
export async function openPanels(page: Page): Promise<void> {
  await page.evaluate(
    "document.querySelectorAll('details').forEach((panel) => { panel.open = true })",
  )
}

/** The rules of accessibility that a page breaks in light colours and in dark ones, with the elements that break them. */
export async function axeFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const light = await violations(page, {})
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await violations(page, { runOnly: ['color-contrast'] })
  await page.emulateMedia({ colorScheme: 'light' })
  return [...light, ...dark]
}

async function violations(page: Page, options: object): Promise<string[]> {
  const found = await page.evaluate<{ id: string; impact: string; nodes: { html: string }[] }[]>(
    `axe.run(${JSON.stringify({ resultTypes: ['violations'], ...options })}).then(({ violations }) => violations)`,
  )
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`)
}
