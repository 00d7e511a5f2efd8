/**
 * Saves a CSV file of watches to a list, after a dry run.
 *
 *   FAREWATCH_URL=http://127.0.0.1:8080 FAREWATCH_KEY=fwk_… node examples/import-watches.ts summer summer.csv
 */
import { readFile } from 'node:fs/promises'
import process from 'node:process'
import { createFarewatch, FarewatchError } from 'farewatch-client'

const [list = 'summer', file = 'summer.csv'] = process.argv.slice(2)
const farewatch = createFarewatch({
  baseUrl: process.env.FAREWATCH_URL ?? 'http://127.0.0.1:8080',
  key: process.env.FAREWATCH_KEY,
})

async function save(csv: string, dryRun: boolean) {
  const { data, error } = await farewatch.POST('/api/v1/watch-lists/{list}/watches', {
    params: { path: { list }, query: { createList: true, dryRun } },
    headers: { 'content-type': 'text/csv' },
    body: csv,
    bodySerializer: (text) => text,
  })
  if (error === undefined) return data
  for (const { pointer, detail } of error.errors ?? []) console.log(`${pointer}: ${detail}`)
  throw new FarewatchError(error)
}

const csv = await readFile(file, 'utf8')
const plan = await save(csv, true)
if (plan.cleared > 0) {
  console.log(`${plan.cleared} watches would lose a setting; nothing was saved`)
} else {
  const { added, changed, unchanged } = await save(csv, false)
  console.log(`${added} added, ${changed} changed, ${unchanged} unchanged`)
}
