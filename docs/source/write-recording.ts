/**
 * Records what `bin/farewatch up` prints in its first minutes, and draws it as an animated image for the README. Pauses are
 * shortened; times and text are those of the recording.
 *
 *   npm run recording -- [seconds]
 */

import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { stripVTControlCharacters } from 'node:util'

const ROOT = path.resolve(import.meta.dirname, '../..')
const FILE = path.join(ROOT, 'docs/images/start.svg')
const SECONDS = Number(process.argv[2] ?? 150)
const COLUMNS = 112
/** The longest pause between two lines, and how long the last picture stays. */
const PAUSE_MS = { longest: 1_200, last: 6_000 }
const FONT = { size: 13, width: 7.83, line: 19 }
const COLORS = {
  back: '#0d1117',
  text: '#c9d1d9',
  faint: '#8b949e',
  good: '#3fb950',
  link: '#58a6ff',
}

interface Line {
  readonly atMs: number
  readonly text: string
}

async function record(): Promise<Line[]> {
  const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-recording-'))
  const env = { PATH: process.env.PATH ?? '', FAREWATCH_HOME: path.join(home, '.farewatch') }
  const startedAt = performance.now()
  // "script" gives it a terminal: elsewhere it logs JSON.
  const command = `stty cols ${COLUMNS} rows 50; exec timeout -s INT ${SECONDS} bin/farewatch up`
  const up = spawn('script', ['-qec', command, '/dev/null'], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines: Line[] = [{ atMs: 0, text: '$ npm start' }]
  for await (const text of createInterface({ input: up.stdout })) {
    const atMs = performance.now() - startedAt
    const shown = shownText(text.replaceAll(`${home}/`, ''))
    if (atMs < SECONDS * 1_000) lines.push({ atMs, text: shown })
  }
  await rm(home, { recursive: true, force: true })
  return lines
}

function shownText(raw: string): string {
  const text = stripVTControlCharacters(raw).trimEnd()
  return text.length > COLUMNS ? `${text.slice(0, COLUMNS - 1)}…` : text
}

/** When each line appears, with short pauses, in milliseconds. */
function timesOf(lines: readonly Line[]): number[] {
  let at = 600
  return lines.map(({ atMs }, index) => {
    const before = lines[index - 1]
    if (before !== undefined) at += Math.min(PAUSE_MS.longest, atMs - before.atMs)
    return at
  })
}

function draw(lines: readonly Line[]): string {
  const times = timesOf(lines)
  const totalMs = (times.at(-1) ?? 0) + PAUSE_MS.last
  const [width, height] = [COLUMNS * FONT.width + 32, lines.length * FONT.line + 32]
  const rules = times.map((at, index) => {
    const percent = ((at / totalMs) * 100).toFixed(2)
    return `@keyframes l${index}{0%,${percent}%{opacity:0}${(Number(percent) + 0.01).toFixed(2)}%,100%{opacity:1}}.l${index}{animation-name:l${index}}`
  })
  const texts = lines.map(
    ({ text }, index) =>
      `<text class="l${index}" x="16" y="${(index + 1) * FONT.line + 8}" xml:space="preserve" fill="${colorOf(text)}">${escaped(text)}</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${Math.ceil(width)} ${height}" width="${Math.ceil(width)}" height="${height}" role="img" aria-label="What npm start prints in its first minutes">
<style>text{font:${FONT.size}px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;animation:${(totalMs / 1_000).toFixed(1)}s step-end infinite}
@media (prefers-reduced-motion:reduce){text{animation:none}}
${rules.join('\n')}</style>
<rect width="100%" height="100%" rx="8" fill="${COLORS.back}"/>
${texts.join('\n')}
</svg>
`
}

function colorOf(text: string): string {
  if (/^ +✓/.test(text)) return COLORS.good
  if (/^\d\d:\d\d:\d\d {2}webhook/.test(text)) return COLORS.faint
  return text.includes('http://') ? COLORS.link : COLORS.text
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

await writeFile(FILE, draw(await record()))
process.stdout.write(`${path.relative(ROOT, FILE)}\n`)
