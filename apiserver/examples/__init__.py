"""What the OpenAPI document shows: values like those that the services give, as answered."""
