"""How the probes look on the wire."""

from marshmallow import Schema, fields


class StatusSchema(Schema):
    """One word."""

    status = fields.String(required=True)


class StatusAnswerSchema(Schema):
    """The envelope of a probe that succeeds."""

    data = fields.Nested(StatusSchema, required=True)


class ReasonsSchema(Schema):
    """Why not, a sentence each."""

    reasons = fields.List(fields.String(), required=True)


class ReasonsAnswerSchema(Schema):
    """The envelope of a readiness probe that fails."""

    data = fields.Nested(ReasonsSchema, required=True)
