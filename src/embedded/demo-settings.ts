import { type Config, SETTINGS } from '../platform/config/settings.ts'

/** An hour passes in the sandbox each minute, so its lists and fares are read more often. */
const DEMO_SETTINGS = {
  ROUTE_SYNC_SCHEDULE: '*/20 * * * * *',
  AVAILABILITY_SYNC_SCHEDULE: '*/20 * * * * *',
  MIN_INTERVAL_SECONDS: 20,
} as const

/** The settings that have other values where a sandbox replaces the upstream. A setting that is not its default is kept. */
export function demoSettingsOf(config: Config): Partial<typeof DEMO_SETTINGS> {
  if (config.UPSTREAM_BASE_URL !== undefined) return {}
  const names = Object.keys(DEMO_SETTINGS) as (keyof typeof DEMO_SETTINGS)[]
  const presets = names.filter((name) => config[name] === SETTINGS[name].preset)
  return Object.fromEntries(presets.map((name) => [name, DEMO_SETTINGS[name]]))
}
