import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { parse, stringify } from 'yaml'
import { DEGRADED } from '../../grafana/source/alerts.ts'
import { freePort } from '../support/redis-tier.ts'
import { until } from '../support/until.ts'

const FOLDER = path.resolve(import.meta.dirname, '../../grafana/prometheus')

/** A series in a query result, with its value at the time of the query. */
export interface Sample {
  readonly labels: Readonly<Record<string, string | undefined>>
  readonly value: number
}

/** A real Prometheus for one test, with the configuration and rules of this repository. */
export interface Prometheus {
  query(expr: string): Promise<Sample[]>
  /** The values of a label, queried as a variable of Grafana does. */
  labelValues(series: string, label: string): Promise<string[]>
  /** The names of firing alerts. */
  firing(): Promise<string[]>
  close(): Promise<void>
}

/**
 * Starts Prometheus on a free port. It uses prometheus.yml with two changes: one fixed target instead of the DNS names of
 * the containers, and intervals of one second. The times in the rules are shortened too (see `shortened`).
 */
export async function startPrometheus(target: string): Promise<Prometheus> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'farewatch-prometheus-'))
  await writeFile(path.join(folder, 'prometheus.yml'), await configurationFor(target))
  await writeFile(
    path.join(folder, 'alerts.yml'),
    shortened(await readFile(path.join(FOLDER, 'alerts.yml'), 'utf8')),
  )
  const port = await freePort()
  const server = spawn(
    'prometheus',
    [
      `--config.file=${path.join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${path.join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    { stdio: 'ignore' },
  )
  const base = `http://127.0.0.1:${port}`
  const close = async () => {
    if (server.exitCode === null) {
      server.kill('SIGTERM')
      await once(server, 'exit')
    }
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await until('Prometheus', () => isReady(base))
  } catch (err) {
    await close()
    throw err
  }
  return { ...queriesOf(base), close }
}

async function configurationFor(target: string): Promise<string> {
  const config = parse(await readFile(path.join(FOLDER, 'prometheus.yml'), 'utf8')) as {
    global: object
    scrape_configs: { dns_sd_configs?: unknown }[]
  }
  const [farewatch] = config.scrape_configs
  const { dns_sd_configs: _, ...scrape } = farewatch ?? {}
  return stringify({
    ...config,
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    scrape_configs: [{ ...scrape, static_configs: [{ targets: [target] }] }],
  })
}

/**
 * Replaces waits by 1 s and windows by 10 s, which is enough for rates at one scrape a second. A tick is late after 3 s
 * instead of five minutes. Gauges are old after 20 s: they are read every few seconds here.
 */
function shortened(rules: string): string {
  return rules
    .replaceAll(/\b(for|keep_firing_for): \d+m/g, '$1: 1s')
    .replaceAll(/\[\d+m\]/g, '[10s]')
    .replace(/(system_gauges_read\S+\) >) 120\b/, '$1 20')
    .replace('> 300 + ', '> 3 + ')
}

async function isReady(base: string): Promise<boolean> {
  const answer = await fetch(`${base}/-/ready`).catch(() => undefined)
  return answer?.ok === true
}

interface Result {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [number, string]
}

function queriesOf(base: string): Omit<Prometheus, 'close'> {
  const get = async (where: string): Promise<unknown> => {
    const response = await fetch(`${base}/api/v1/${where}`)
    const { data, error } = (await response.json()) as { data?: unknown; error?: string }
    if (error !== undefined) throw new Error(`${decodeURIComponent(where)}: ${error}`)
    return data
  }
  const query = async (expr: string): Promise<Sample[]> => {
    const { result } = (await get(`query?query=${encodeURIComponent(expr)}`)) as {
      result: Result[]
    }
    return result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }))
  }
  return {
    query,
    labelValues: async (series, label) =>
      (await get(`label/${label}/values?match[]=${encodeURIComponent(series)}`)) as string[],
    firing: async () => {
      const alerts = await query('ALERTS{alertstate="firing"}')
      // What can wait has one alert: its code is the name.
      return alerts.map(({ labels: { alertname = '', code = '' } }) =>
        alertname === DEGRADED ? code : alertname,
      )
    },
  }
}
