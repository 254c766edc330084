import { Type, type Static } from 'typebox'

/** Name of a file or folder in the checkpoint's folder, without path separators. */
const Name = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$', maxLength: 200 })

/** config.json of a composed checkpoint: an unchanged published base, and parts trained over it. */
export const ComposedSchema = Type.Object(
  {
    base_model: Name,
    base_revision: Type.Optional(
      Type.String({ pattern: '^[0-9a-f]{64}$', description: "The base's revision, as `cepe inspect` prints it: another base is refused." }),
    ),
    adapters: Type.Optional(
      Type.Array(Name, { maxItems: 16, description: 'Folders of LoRA adapters of the decoder, merged in this order.' }),
    ),
    smoothing: Type.Optional(
      Type.String({ ...Name, description: 'Factors of channels (safetensors) that make quantised activations more precise.' }),
    ),
    chat_template: Type.Optional(
      Type.Boolean({ description: "false: the base's chat template is left out, because the adapters expect plain prompts." }),
    ),
    cepe: Type.Optional(
      Type.Object(
        {
          file: Name,
          encoder_layers: Type.Integer({ minimum: 1, maximum: 1024 }),
          encoder_window: Type.Integer({ minimum: 1, maximum: 1 << 20 }),
          causal: Type.Optional(
            Type.Boolean({
              description: "true: the encoder keeps the decoder's causal attention. Bidirectional by default, as in the paper.",
            }),
          ),
          lora_factor: Type.Number({ description: "Of the encoder's adapters: alpha / rank." }),
        },
        {
          additionalProperties: false,
          description:
            "The encoder is the decoder's lower layers with adapters; cross-attention and the encoder's last norm are stored in full.",
        },
      ),
    ),
  },
  { additionalProperties: false },
)
export type ComposedConfig = Static<typeof ComposedSchema>
export type CepeParts = NonNullable<ComposedConfig['cepe']>
