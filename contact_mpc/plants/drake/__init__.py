"""Drake (SAP) as plant. No model of planning or control."""
