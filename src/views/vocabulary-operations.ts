import { createHash } from 'node:crypto'
import { type TSchema, Type } from 'typebox'
import { VOCABULARY } from '../platform/base/vocabulary.ts'
import { operations } from '../platform/http/operation.ts'
import { isNotModified } from '../platform/http/responses.ts'
import { object, orNull } from '../platform/http/schemas.ts'
import { type QuestionField, TERM_FIELDS } from '../upstream/question.ts'
import { SETTING_FIELDS, type SettingField } from '../watches/rows/settings.ts'

/** A table by code, open for codes of later versions. */
const byCode = <T extends TSchema>(schema: T, description: string) =>
  Type.Unsafe<Readonly<Record<string, Type.Static<T>>>>({
    type: 'object',
    additionalProperties: schema,
    description,
  })
const texts = (description: string) => byCode(Type.String(), description)

const Sentences = Type.Array(Type.String(), {
  description:
    'Templates. The first of which all values are known is the sentence: `{price}` and `{was}` are prices after and before, ' +
    '`{risenFrom}` or `{fallenFrom}` the amount before in the same currency, `{state}` the sentence of the state after, ' +
    '`{outbound}` and `{return}` the beliefs of the legs, `{leg}` the only leg that was lost, `{before}` the flights before ' +
    'if they read otherwise, `{reason}` the text of the reason, or else the label of the kind.',
})

const FIELD_MEMBERS = {
  column: Type.String({ description: 'In files of watches.' }),
  pointer: Type.String({ description: 'Its place in a watch: a JSON pointer.' }),
  label: Type.String(),
  schema: Type.Unsafe<QuestionField['schema']>({
    type: 'object',
    description: 'The JSON schema of its values.',
  }),
}

const Term = object(
  {
    ...FIELD_MEMBERS,
    usual: Type.Unsafe<QuestionField['usual']>({
      type: ['string', 'number', 'null'],
      description: 'Its value for one adult.',
    }),
    words: orNull(Type.Array(Type.String()), 'Singular and plural of what is counted.'),
  },
  { title: 'Term' },
)

const Setting = object(
  {
    ...FIELD_MEMBERS,
    hint: Type.String({ description: 'How a value may look.' }),
    default: Type.Unsafe<SettingField['default']>({
      type: ['string', 'number', 'null'],
      description: 'What its absence means.',
    }),
  },
  { title: 'Setting' },
)

const Vocabulary = object(
  {
    language: Type.String(),
    kinds: byCode(
      object({
        label: Type.String(),
        about: Type.String(),
        feeds: Type.Array(Type.String(), {
          description:
            'Which feeds have it: route, availability (of fares), watch (of a reseller).',
        }),
        tone: Type.String({ description: 'good, bad, warn or idle.' }),
        sentences: Sentences,
      }),
      'The kinds of records.',
    ),
    states: byCode(object({ label: Type.String(), sentences: Sentences }), 'The states of fares.'),
    beliefs: texts('What is believed of a leg.'),
    legs: texts('The legs of a fare.'),
    notes: texts('What a sentence adds about the price of a record: templates.'),
    reasons: texts('Why fares were lost, and why fares and watches ended.'),
    statuses: texts('The states of watches.'),
    hidden: texts('Why a belief is not shown.'),
    checks: texts('Why a fare is checked, and what the budget is used for.'),
    incidents: texts('The masses of changes.'),
    terms: Type.Array(Term, { description: 'For whom the fare of a watch is.' }),
    settings: Type.Array(Setting, { description: 'What a watch says besides its question.' }),
  },
  { title: 'Vocabulary' },
)

const named = ({ column, path, label }: QuestionField | SettingField) => {
  return { column, pointer: `/${path.join('/')}`, label }
}

const TERMS = (TERM_FIELDS as readonly QuestionField[]).map((field) => {
  const { schema, usual, words } = field
  return { ...named(field), schema, usual, words: words ? [...words] : null }
})

const SETTINGS = (SETTING_FIELDS as readonly SettingField[]).map((field) => {
  const { schema, hint, default: absent } = field
  return { ...named(field), schema: { ...schema }, hint, default: absent }
})

/** The whole answer. */
export const TEXTS = { ...VOCABULARY, terms: TERMS, settings: SETTINGS }

const TAG = createHash('sha256').update(JSON.stringify(TEXTS)).digest('base64url').slice(0, 16)

const { open } = operations<object>()

const read = open({
  id: 'readVocabulary',
  method: 'GET',
  path: '/api/v1/vocabulary',
  tag: 'Changes',
  summary: 'Read the texts of kinds, reasons, states and terms',
  description:
    'The texts that the page shows, in English. A later version may add codes and change texts, and then the `ETag`. It needs no key.',
  scope: 'any',
  answer: { about: 'The texts, by code.', schema: Vocabulary, versioned: true },
  handler: async (_deps, { request, reply }) =>
    isNotModified(request, reply, { tag: TAG }) ? reply.code(304).send() : TEXTS,
})

export const VOCABULARY_OPERATIONS = [read]
