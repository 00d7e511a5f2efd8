import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/platform/config/config.ts'
import { SETTINGS } from '../../src/platform/config/settings.ts'
import {
  COMPOSE,
  COMPOSE_TEXT,
  OURS,
  ROOT,
  SERVICES,
  serviceOf,
  variablesOf,
  withDefaults,
} from './compose-file.ts'

/** Settings that the image fixes. */
const FIXED_BY_THE_IMAGE = new Set(['API_HOST', 'API_PORT', 'ADMIN_HOST', 'ADMIN_PORT'])
const EMBEDDED_ALONE = new Set(['FAREWATCH_HOME', 'DEMO_FAULTS', 'DEMO_HISTORY_DAYS'])
/** Variables of .env that are not settings. The configuration ignores them. */
const OF_COMPOSE = /^(PROMETHEUS|GRAFANA)_|^FAREWATCH_(IMAGE|WORKERS|PUBLISHED_PORT)$/

describe('docker-compose.yml', () => {
  it('has no project name, so that two checkouts are two stacks', () => {
    expect(COMPOSE).not.toHaveProperty('name')
    expect(SERVICES.filter(([, service]) => service.container_name !== undefined)).toEqual([])
  })

  it('runs the image in every role of the program, and the stores that it needs', () => {
    const roles = OURS.map(([name, { command }]) => [name, command?.[0]])

    expect(roles).toEqual(['migrate', 'api', 'worker', 'sandbox', 'demo'].map((one) => [one, one]))
    expect(Object.keys(COMPOSE.services)).toEqual(
      expect.arrayContaining(['postgres', 'redis', 'prometheus', 'grafana']),
    )
  })

  it.each(SERVICES)('gives the image of %s a tag', (_name, { image }) => {
    expect(withDefaults(image)).toMatch(/^[\w./-]+:[\w.-]+$/)
  })

  it.each(SERVICES)(
    'gives %s no extra privileges, a read-only file system and limits of memory, CPU and logs',
    (_name, service) => {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        tmpfs: expect.arrayContaining(['/tmp']),
        mem_limit: expect.stringMatching(/^\d+[mg]$/),
        cpus: expect.any(Number),
        logging: { options: { 'max-size': expect.any(String), 'max-file': expect.any(String) } },
      })
      expect(service.privileged).toBeUndefined()
    },
  )

  it('publishes ports on loopback only', () => {
    const ports = SERVICES.flatMap(([, service]) => service.ports ?? [])

    expect(ports.length).toBeGreaterThan(0)
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([])
  })

  it('publishes no port of the worker, so that several can run', () => {
    expect(serviceOf('worker').ports).toBeUndefined()
  })

  it('keeps the stores in an internal network', () => {
    expect(COMPOSE.networks.stores).toEqual({ internal: true })
    for (const store of ['postgres', 'redis']) {
      expect(serviceOf(store).networks).toEqual(['stores'])
      expect(serviceOf(store).ports).toBeUndefined()
    }
  })

  it('makes the services wait for the migration, and the migration for the database', () => {
    expect(serviceOf('migrate').depends_on).toEqual({ postgres: { condition: 'service_healthy' } })
    for (const name of ['api', 'worker']) {
      expect(serviceOf(name).depends_on).toMatchObject({
        migrate: { condition: 'service_completed_successfully' },
        redis: { condition: 'service_healthy' },
      })
    }
  })

  it('waits only for the health of services that have a health check', () => {
    const healthy = SERVICES.flatMap(([, service]) => Object.entries(service.depends_on ?? {}))
      .filter(([, { condition }]) => condition === 'service_healthy')
      .map(([name]) => serviceOf(name))

    expect(healthy.length).toBeGreaterThan(0)
    for (const service of healthy) expect(service.healthcheck?.test).toBeDefined()
  })

  it('keeps the data of the stores in volumes, and Redis appends to a file and never evicts', () => {
    const command = serviceOf('redis').command?.join(' ')

    expect(command).toContain('--appendonly yes')
    expect(command).toContain('--maxmemory-policy noeviction')
    expect(serviceOf('redis').volumes).toContain('redis-data:/data')
    expect(serviceOf('postgres').volumes).toContain('postgres-data:/var/lib/postgresql')
  })

  it('mounts only files that exist', () => {
    const mounted = SERVICES.flatMap(([, service]) => service.volumes ?? [])
      .map((volume) => volume.split(':')[0] ?? '')
      .filter((source) => source.startsWith('./'))

    expect(mounted.length).toBeGreaterThan(0)
    expect(mounted.filter((source) => !existsSync(path.join(ROOT, source)))).toEqual([])
  })
})

describe('the settings in docker-compose.yml', () => {
  const secrets = Object.entries(SETTINGS).filter(([, { secret }]) => secret)
  const known = new Set([...Object.keys(SETTINGS), ...secrets.map(([name]) => `${name}_FILE`)])

  it.each(OURS)('are all known to the program, for %s', (_name, { environment = {} }) => {
    expect(Object.keys(environment).filter((name) => !known.has(name))).toEqual([])
  })

  it.each(['api', 'worker'])(
    'are complete for %s, so that every setting of .env takes effect',
    (name) => {
      const given = Object.keys(serviceOf(name).environment ?? {})
      const wanted = Object.entries(SETTINGS)
        .filter(([setting]) => !FIXED_BY_THE_IMAGE.has(setting) && !EMBEDDED_ALONE.has(setting))
        .map(([setting, { secret }]) => (secret ? `${setting}_FILE` : setting))

      expect(new Set(given)).toEqual(new Set(wanted))
    },
  )

  it.each(OURS)(
    'keep secrets in files, for %s',
    (_name, { environment = {}, secrets: mounted = [] }) => {
      const open = secrets.map(([name]) => name).filter((name) => name in environment)
      const files = Object.entries(environment)
        .filter(([name]) => name.endsWith('_FILE'))
        .map(([, file]) => String(file))

      expect(open).toEqual([])
      expect(new Set(files)).toEqual(new Set(mounted.map((secret) => `/run/secrets/${secret}`)))
    },
  )

  it.each(OURS)(
    'are well-formed where the file gives them a value, for %s',
    (_name, { environment = {} }) => {
      const given = Object.entries(environment)
        .filter(([name, value]) => value !== null && !name.endsWith('_FILE'))
        .map(([name, value]) => [name, withDefaults(String(value))])

      expect(() => loadConfig(Object.fromEntries(given), '/nowhere')).not.toThrow()
    },
  )

  it('use no variable of .env that the program would refuse', () => {
    const unknown = variablesOf(COMPOSE_TEXT).filter(
      (name) => !(name in SETTINGS) && !OF_COMPOSE.test(name),
    )

    expect(unknown).toEqual([])
    const env = Object.fromEntries(
      variablesOf(COMPOSE_TEXT)
        .filter((name) => OF_COMPOSE.test(name))
        .map((name) => [name, '1']),
    )
    expect(() => loadConfig(env, '/nowhere')).not.toThrow()
  })
})

const page = readFileSync(path.join(ROOT, 'docs/reference/deploying.md'), 'utf8')

/** The code in the first column of the page's tables. */
const firstCells = page
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .flatMap((line) =>
    [...(line.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1]),
  )

/** The words of every compose command of the page. A backslash at the end of a line continues it. */
const commands = [
  ...page.replaceAll('\\\n', ' ').matchAll(/^docker compose (.+?)(?: +#.*)?$/gm),
].map((match) => (match[1] ?? '').split(/\s+/))

describe('the page about deploying', () => {
  it('lists every service and every secret', () => {
    const secrets = Object.values(COMPOSE.secrets).map(({ file }) => path.basename(file))

    expect(firstCells).toEqual(expect.arrayContaining(SERVICES.map(([name]) => name)))
    expect(firstCells).toEqual(expect.arrayContaining(secrets))
  })

  it('lists every variable that is not a setting', () => {
    const ofStack = variablesOf(COMPOSE_TEXT).filter((name) => name !== 'UPSTREAM_BASE_URL')

    expect(firstCells).toEqual(expect.arrayContaining(ofStack))
  })

  it('runs commands only in services that exist', () => {
    const entered = commands
      .filter(([verb]) => verb === 'exec' || verb === 'run')
      .map((words) => words.slice(1).find((word) => !word.startsWith('-')))

    expect(entered.length).toBeGreaterThan(8)
    expect(entered.filter((name) => !SERVICES.some(([service]) => service === name))).toEqual([])
  })
})
