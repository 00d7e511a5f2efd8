import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { expect, it } from 'vitest'
import { loadConfig } from '../../../src/platform/config/config.ts'
import { SETTING_GROUPS, SETTINGS } from '../../../src/platform/config/settings.ts'

const EXAMPLE = readFileSync(new URL('../../../.env.example', import.meta.url), 'utf8')
/** A setting in the example: its description and its default, both as comments. */
const SETTING = /^# (?<about>.+)\n#(?<name>[A-Z_]+)=(?<preset>.*)$/gm
const GROUP = /^## (.+)$/m

it('.env.example has every setting, in its group, with its description and default', () => {
  const [, ...parts] = EXAMPLE.split(GROUP)
  const shown = parts.map((part, at) =>
    at % 2 === 0 ? part : [...part.matchAll(SETTING)].map(({ groups }) => ({ ...groups })),
  )

  expect(shown).toEqual(
    Object.entries(SETTING_GROUPS).flatMap(([group, settings]) => [
      group,
      Object.entries(settings).map(([name, { about, secret, preset }]) => ({
        about: secret ? `${about}; or ${name}_FILE` : about,
        name,
        preset: String(preset ?? ''),
      })),
    ]),
  )
})

it('.env.example sets nothing unless edited', () => {
  expect(parseEnv(EXAMPLE)).toEqual({})
})

it('.env.example with all lines uncommented gives the default configuration', () => {
  const allSet = parseEnv(EXAMPLE.replace(/^#(?=[A-Z])/gm, ''))

  expect(new Set(Object.keys(allSet))).toEqual(new Set(Object.keys(SETTINGS)))
  expect(loadConfig(allSet, '/nowhere')).toEqual(loadConfig({}, '/nowhere'))
})
